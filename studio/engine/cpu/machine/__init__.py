"""What this machine offers kernels: threads, and a compiler for loops."""
