"""The export dialog: what is written, where to, how it begins, and what the check found."""
