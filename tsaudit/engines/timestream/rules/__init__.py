"""Rules that apply to Amazon Timestream only."""
