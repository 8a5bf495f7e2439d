"""tsaudit.yaml: its keys, how it is read, and how mistakes in it are reported."""
