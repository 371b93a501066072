"""Chooses and lays out the kernels of an entry: dispatches, tiles, groups."""
