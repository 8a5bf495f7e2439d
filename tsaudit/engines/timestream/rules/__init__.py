"""Rules about Amazon Timestream alone."""
