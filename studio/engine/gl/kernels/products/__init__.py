"""Matrix products and convolutions as tiled products."""
