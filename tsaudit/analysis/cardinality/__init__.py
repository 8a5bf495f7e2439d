"""Series cardinality, and the tags that cause it."""
