"""RESHAPE and its gradient: elements stay in row-major sequence, as in FLATTEN."""

from __future__ import annotations

from studio.engine.cpu.kernels.flatten import build, build_grads

__all__ = ["build", "build_grads"]
