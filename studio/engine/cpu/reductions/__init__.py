"""Sums, means and losses over rows and columns."""
