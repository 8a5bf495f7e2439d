"""MongoDB, and FerretDB."""
