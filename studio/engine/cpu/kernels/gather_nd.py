"""GATHER_ND and its gradient: as GATHER, with tuples of indices."""

from studio.engine.cpu.kernels.gather import build, build_grads

__all__ = ["build", "build_grads"]
