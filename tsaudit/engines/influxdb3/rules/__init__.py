"""Rules about InfluxDB 3 alone."""
