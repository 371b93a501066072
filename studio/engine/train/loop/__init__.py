"""Training: the trainer, its loop and its control, and the record that it writes."""
