"""The profiler: what a step takes, kernel by kernel, and the time no kernel accounts for."""
