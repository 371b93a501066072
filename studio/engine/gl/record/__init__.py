"""Records the dispatches of a step and issues them."""
