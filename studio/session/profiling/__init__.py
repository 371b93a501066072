"""Times of kernels: measurements, dry runs, peaks, the table."""
