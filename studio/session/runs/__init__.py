"""Recorded runs: their table, history, differences, overlays, the bin."""
