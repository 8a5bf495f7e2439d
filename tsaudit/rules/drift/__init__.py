"""Rules about schemas that change."""
