"""What `bench.dependencies` measures: the same search in several ways, each run in a process of its own."""
