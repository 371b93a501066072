"""The threads that share the work of a step."""
