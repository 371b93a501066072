"""The OpenGL context and what it owns: buffers, fences, timers, programs."""
