"""Sweeps and trainings beyond one process, on engines that exist."""
