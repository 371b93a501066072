"""Chooses and lays out the kernels of an entry: passes, tiles, groups."""
