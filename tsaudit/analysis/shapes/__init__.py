"""What names and values are made of."""
