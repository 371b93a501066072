"""Runs a compiled program on the device."""
