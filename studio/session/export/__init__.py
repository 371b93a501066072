"""Exporting the trained network and checking what was written."""
