"""What the rows read show: which columns are filled together, and how often rows arrive."""
