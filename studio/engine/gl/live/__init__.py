"""Copies tensors while a program runs, and draws them."""
