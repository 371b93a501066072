"""What may be called while a network trains: stopping early, checkpoints, rates, logs."""
