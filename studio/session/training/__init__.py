"""The training of the open document: prepare, run, stop, and tell about it."""
