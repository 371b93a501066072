"""GATHER_ELEMENTS and its gradient: as GATHER, with a key for every element."""

from studio.engine.cpu.kernels.gather import build, build_grads

__all__ = ["build", "build_grads"]
