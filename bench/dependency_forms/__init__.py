"""What `bench/dependencies.py` measures: the same search in several ways, each run in a process of its own."""
