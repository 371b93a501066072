"""What the user is told: notices, the actions they offer, and the log."""
