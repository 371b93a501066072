"""Repairs of problems: changes that were tried on a copy and found to help."""
