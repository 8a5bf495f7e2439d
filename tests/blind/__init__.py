"""Databases that nothing was tuned on: made from public documentation alone, audited once, published as they came out."""
