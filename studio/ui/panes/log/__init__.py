"""The log of the session."""
