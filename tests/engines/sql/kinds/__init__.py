"""Tables of several trades, with the kind that somebody who knows the trade says they have."""
