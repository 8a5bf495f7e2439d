"""HTTP within bounds: time by the wall clock, bytes, redirects and encodings, whichever engine speaks it."""
