"""What names and values look like."""
