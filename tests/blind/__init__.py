"""Databases that nothing was tuned on: made from public documentation alone, audited once, and published as is."""
