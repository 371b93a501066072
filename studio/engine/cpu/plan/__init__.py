"""Binds the entries of a program to kernels and threads."""
