"""How MongoDB's answers are read."""
