"""Records 20 steps of each optimiser from PyTorch, in float64.

Run from the root of the repository by an interpreter that has PyTorch 2.13.0:

    python -m tests.recorded.optim.record_torch
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.recorded.optim.cases import SHAPES, TORCH_OPTIMIZERS, Array, gradients, parameters

TARGET_FILE = Path(__file__).parent / "torch.npz"


def optimizer_path(kind: str, config: dict[str, Any]) -> dict[str, Array]:
    """Both parameters after each step: [steps, …]."""
    start = parameters()
    values = {n: torch.nn.Parameter(torch.from_numpy(start[n])) for n in SHAPES}
    optimizer = getattr(torch.optim, kind)(list(values.values()), **config)
    path: dict[str, list[Array]] = {n: [] for n in SHAPES}
    for step in gradients():
        for name, value in values.items():
            value.grad = torch.from_numpy(step[name].copy())
        optimizer.step()
        for name, value in values.items():
            path[name].append(value.detach().numpy().copy())
    return {n: np.stack(found) for n, found in path.items()}


def record_all() -> dict[str, Array]:
    """Every optimiser, under ``optimizer|case|name``."""
    return {
        f"optimizer|{case}|{name}": path
        for case, (kind, config, _, _) in TORCH_OPTIMIZERS.items()
        for name, path in optimizer_path(kind, config).items()
    }


if __name__ == "__main__":
    np.savez_compressed(TARGET_FILE, **record_all())
