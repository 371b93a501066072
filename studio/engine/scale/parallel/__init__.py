"""One training by several workers: processes that exchange gradients over MPI."""
