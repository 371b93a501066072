"""Compiler passes one by one, and what each changed."""
