"""Data types, shape descriptors, tensors, errors, change signals, counter-based random numbers."""
