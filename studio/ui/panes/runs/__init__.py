"""The runs of a project: a table to sort, mark, compare and clear away."""
