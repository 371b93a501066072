"""Checks: what is wrong with a network, at which layer, and what a selection allows."""
