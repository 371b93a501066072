"""The list of everything that stands in the way of a training."""
