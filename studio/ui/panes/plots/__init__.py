"""The plots: loss, metrics and learning rate of trainings, live and recorded."""
