"""Orders the dispatches of a step and plans its scratch storage."""
