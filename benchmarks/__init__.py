"""Benchmarks: measured beside peers in one run, never asserted."""
