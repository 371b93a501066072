"""Brings models and weights of other programs into the studio."""
