"""Small compute shaders that ask a driver how it counts and how fast it is."""
