"""Schemas: compare two snapshots, declare a schema, check against it."""
