"""Rules that apply to MongoDB only."""
