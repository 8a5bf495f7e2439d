"""Rules about fields."""
