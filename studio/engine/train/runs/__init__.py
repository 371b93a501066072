"""A run's folder on disk: what is in it, who trains it, and which weights came from it."""
