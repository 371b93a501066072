"""Curves of a training: series, axes, smoothing, thinning."""
