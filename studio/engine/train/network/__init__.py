"""A network on a device: its programs, its samples, evaluation and inference."""
