"""Kernel choices measured on a device: how they are named, kept and looked up."""
