"""The connectors, one module per engine."""
