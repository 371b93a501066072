"""What each layer makes of a few samples, computed again after each edit."""
