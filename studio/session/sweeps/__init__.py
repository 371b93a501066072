"""Sweeps as the window plans and shows them: what is varied, and what came out."""
