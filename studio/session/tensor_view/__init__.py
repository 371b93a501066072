"""Live tensors: what is looked at, when, and the picture made of it."""
