"""What the user is told: notices, the offers they make, and the log."""
