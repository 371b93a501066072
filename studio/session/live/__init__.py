"""Tensors read while a network trains: which, when, and where they come from."""
