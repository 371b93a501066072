"""Runs a compiled program on the processor."""
