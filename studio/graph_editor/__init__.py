"""The canvas: a document of layers and wires, and the views that edit it."""
