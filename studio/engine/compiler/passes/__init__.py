"""Passes: one function from program to program each, in a file named after what it does."""
