"""What the canvas shows of a layer: its card, size, ports and family."""
