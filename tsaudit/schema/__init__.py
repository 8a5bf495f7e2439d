"""Schemas: comparing two snapshots, declaring a schema, and checking the live schema against it."""
