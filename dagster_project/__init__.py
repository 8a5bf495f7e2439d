"""This repository's own Dagster project: the demo, and what a project that uses `dagster_tsaudit` looks like."""
