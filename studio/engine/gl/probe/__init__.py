"""Asks a driver how it counts and how fast it is."""
