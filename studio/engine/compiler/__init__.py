"""Lowering, passes, verification and memory planning."""
