"""SCATTER_ND and its gradient: as SCATTER, with tuples of indices."""

from __future__ import annotations

from studio.engine.cpu.kernels.scatter import build, build_grads

__all__ = ["build", "build_grads"]
