"""Measured choices of kernels: what was fastest on a device, kept and asked for when planning."""
