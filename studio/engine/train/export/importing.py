"""Weights are brought in by `studio.engine.train.importing.weights`; names still work."""

from studio.engine.core.renamed import moved

__getattr__ = moved(__name__)
