"""Automatic layout in layers: ranks, order within a rank, places."""
