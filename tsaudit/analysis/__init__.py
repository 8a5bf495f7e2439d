"""The math shared by rules, report, and alerts: arrays in, small dataclasses out; no I/O, no configuration."""
