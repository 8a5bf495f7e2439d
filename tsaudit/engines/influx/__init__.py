"""What the generations of InfluxDB share."""
