"""All text of shaders: kernels by family, what they include, live pictures, probes."""
