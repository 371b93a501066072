"""From the command line to a window, and what may fail on the way."""
