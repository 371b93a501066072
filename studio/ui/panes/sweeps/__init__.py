"""The pane of sweeps: what is varied, the trials, and what mattered."""
