"""What the versions of InfluxDB share."""
