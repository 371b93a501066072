"""The training of the open document: preparation, control, progress, result."""
