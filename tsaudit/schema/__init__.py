"""The schema itself: two compared, one declared and checked."""
