"""Rules about names."""
