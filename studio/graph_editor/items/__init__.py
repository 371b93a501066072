"""Layers and wires as they are painted."""
