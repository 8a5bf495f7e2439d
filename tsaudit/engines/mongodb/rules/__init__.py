"""Rules about MongoDB alone."""
