"""InfluxDB 1.x."""
