"""Curves of a training: series, axes, scales, smoothing, thinning."""
