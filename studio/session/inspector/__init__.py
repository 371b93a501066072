"""What the inspector shows of the selected layers."""
