"""Rules about tags."""
