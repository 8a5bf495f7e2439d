"""InfluxDB 3 Core and Enterprise."""
