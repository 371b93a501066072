"""One curve of a training: series, axes, scales, smoothing; see ``runs/curves_display.py`` too."""
