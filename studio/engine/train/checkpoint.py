"""Checkpoints are in `studio.engine.formats.checkpoint`; names of this module still work."""

from studio.engine.core.renamed import moved

__getattr__ = moved(__name__)
