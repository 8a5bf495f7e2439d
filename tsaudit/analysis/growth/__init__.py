"""Evaluates daily counts: growth, steps, noise, and when a limit will be reached."""
