"""Models and weights of other programs become projects and runs."""
