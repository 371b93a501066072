"""Joins kernel files, accessors and formulas into the text of a shader."""
