"""What the generations of InfluxDB have in common: how their answers are read as they arrive."""
