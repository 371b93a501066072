"""What is kept when something fails: autosaves, locks, recovery, logs."""
