"""Sets of values: in samples, and over time."""
