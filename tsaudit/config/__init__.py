"""tsaudit.yaml: what it may say, where it is read, and what is wrong with it."""
