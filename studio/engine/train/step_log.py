"""Step logs are read by `studio.engine.train.runs.step_log`; names of this module still work."""

from studio.engine.core.renamed import moved

__getattr__ = moved(__name__)
