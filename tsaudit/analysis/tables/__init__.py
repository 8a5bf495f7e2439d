"""Tables compared with each other: one schema under many names."""
