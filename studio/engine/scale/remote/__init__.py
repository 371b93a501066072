"""One training on a Dask cluster, followed from this machine."""
