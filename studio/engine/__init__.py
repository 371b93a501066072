"""The Glassbox engine: a library that compiles, trains and runs networks without any window."""
