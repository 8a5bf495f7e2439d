"""Series and the tags that make them."""
