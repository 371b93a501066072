"""The instruction listing."""
