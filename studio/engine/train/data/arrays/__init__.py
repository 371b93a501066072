"""Array files: ``.npy``, ``.npz`` and IDX."""
