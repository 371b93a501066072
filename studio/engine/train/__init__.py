"""Data sets, models, the training loop, callbacks, checkpoints and runs."""
