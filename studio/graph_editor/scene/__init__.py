"""What lies on the canvas: the scene, its overlays, moving about."""
