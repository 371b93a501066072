"""Readers and writers of containers: zip, NumPy, safetensors, GBI; exports are in `interop`."""
