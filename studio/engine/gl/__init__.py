"""The OpenGL 4.3 compute backend."""
