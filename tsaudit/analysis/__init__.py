"""The mathematics that rules, report and alerts share: arrays in, small dataclasses out; no I/O, no configuration."""
