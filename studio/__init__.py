"""Glassbox: a studio that builds neural networks and shows every instruction they run."""

__version__ = "0.1.0"
