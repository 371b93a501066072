"""File containers: how bytes are laid out in JSON, zip, NumPy, safetensors and GBI files.

What a file of a model contains, and under which names, is in `studio.engine.interop`.
"""
