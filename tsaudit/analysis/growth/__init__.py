"""Daily counts: growth, steps, noise, and when a limit is reached."""
