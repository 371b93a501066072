"""Optimisers, schedules, losses and metrics as instructions."""
