"""tsaudit.yaml: its keys, where it is read, and the errors in it."""
