"""CONCAT_CHANNEL and its gradient: CONCAT along the last dimension."""

from __future__ import annotations

from studio.engine.cpu.kernels.concat import build, build_grads

__all__ = ["build", "build_grads"]
