"""The export dialog: what is written, where to, how it begins, and the proof of sameness."""
