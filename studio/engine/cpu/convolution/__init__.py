"""Ways to compute a convolution, and pooling."""
