"""Element-wise formulas as loops over blocks."""
