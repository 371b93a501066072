"""The profiler: what a step takes, kernel by kernel, and what nobody accounts for."""
