"""Gestures on the canvas, each one object: how it begins, moves, ends and is called off."""
