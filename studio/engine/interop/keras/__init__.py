"""Keras' models as plain data, and between them and layer graphs.

``.keras`` files, HDF5 files and TensorFlow.js hold the same description in two dialects.
"""
