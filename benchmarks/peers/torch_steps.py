"""The workloads in PyTorch: eager, and as a replayed CUDA graph where there is CUDA."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the name everybody knows

from benchmarks.timing import Row, measure
from benchmarks.workloads import Workload, data, start

torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
torch.backends.cudnn.benchmark = True

_NORM_EPS = 1e-3
_NORM_FACTOR = 0.01


class TorchLayers:
    """Functional PyTorch layers over parameters given in order of first use (NHWC outside)."""

    def __init__(self, weights: list[np.ndarray], device: str) -> None:
        self.device = device
        self.params = [self._place(w) for w in weights]
        self.running: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.at = 0
        self.norms = 0
        self.training = True

    def _place(self, w: np.ndarray) -> torch.Tensor:
        if w.ndim == 2:
            t = torch.from_numpy(np.ascontiguousarray(w.T))
        elif w.ndim == 4 and w.shape[3] == 1 and w.shape[2] > 3:
            t = torch.from_numpy(np.ascontiguousarray(w.transpose(2, 3, 0, 1)))
        elif w.ndim == 4:
            t = torch.from_numpy(np.ascontiguousarray(w.transpose(3, 2, 0, 1)))
        else:
            t = torch.from_numpy(w.copy())
        t = t.to(self.device)
        if t.ndim == 4:
            t = t.to(memory_format=torch.channels_last)
        return t.requires_grad_(True)

    def restart(self) -> None:
        """Hand parameters out from the first again."""
        self.at = self.norms = 0

    def _next(self) -> torch.Tensor:
        self.at += 1
        return self.params[self.at - 1]

    def dense(self, x: torch.Tensor, units: int) -> torch.Tensor:
        """Fully connected layer."""
        return F.linear(x, self._next(), self._next())

    def conv(
        self, x: torch.Tensor, filters: int, size: int, stride: int = 1, bias: bool = True
    ) -> torch.Tensor:
        """Convolution; at stride 2 the padding is (0,1) as in Keras."""
        w = self._next()
        b = self._next() if bias else None
        x, pad = _same(x, size, stride)
        return F.conv2d(x, w, b, stride=stride, padding=pad)

    def depthwise(self, x: torch.Tensor, size: int, stride: int = 1) -> torch.Tensor:
        """Depthwise convolution."""
        x, pad = _same(x, size, stride)
        return F.conv2d(x, self._next(), None, stride=stride, padding=pad, groups=x.shape[1])

    def norm(self, x: torch.Tensor) -> torch.Tensor:
        """Batch normalisation."""
        gamma, beta = self._next(), self._next()
        if self.norms == len(self.running):
            self.running.append((torch.zeros_like(beta).detach(), torch.ones_like(beta).detach()))
        mean, var = self.running[self.norms]
        self.norms += 1
        return F.batch_norm(x, mean, var, gamma, beta, self.training, _NORM_FACTOR, _NORM_EPS)

    def relu(self, x: torch.Tensor, ceiling: float | None = None) -> torch.Tensor:
        """Rectifier."""
        return F.relu(x) if ceiling is None else F.relu6(x)

    def maxpool(self, x: torch.Tensor) -> torch.Tensor:
        """2x2 maximum."""
        return F.max_pool2d(x, 2)

    def mean(self, x: torch.Tensor) -> torch.Tensor:
        """Mean over rows and columns."""
        return x.mean((2, 3))

    def flatten(self, x: torch.Tensor) -> torch.Tensor:
        """One row per entry, channels last as Keras flattens."""
        return x.permute(0, 2, 3, 1).flatten(1)

    def add(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Sum."""
        return x + y


def _same(x: torch.Tensor, size: int, stride: int) -> tuple[torch.Tensor, int]:
    if stride == 1:
        return x, size // 2
    total = max(size - stride, 0) if x.shape[2] % stride == 0 else size - x.shape[2] % stride
    before = total // 2
    if total == 0:
        return x, 0
    return F.pad(x, (before, total - before, before, total - before)), 0


def _input(x: np.ndarray, device: str) -> torch.Tensor:
    t = torch.from_numpy(x).to(device)
    if t.ndim == 4:
        t = t.permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)
    return t


def _sync(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def train_rows(work: Workload, batch: int, device: str, steps: int) -> list[Row]:
    """Step times of one workload: eager, fused optimiser, and CUDA graph.

    The memory is that of a step, the allocator's peak without the samples, as ours is counted.
    """
    variants = ["eager", "fused"] + (["cuda graph"] if device == "cuda" else [])
    return [_train_row(work, batch, device, steps, variant) for variant in variants]


def _train_row(work: Workload, batch: int, device: str, steps: int, variant: str) -> Row:
    held = _held(device)
    step, loss = _trainer(work, batch, device, variant)
    block = partial(_block, step, steps, device, loss)
    found = measure(block, steps)
    memory = 0.0
    # A graph has a pool of its own, which the allocator's peak does not tell.
    if device == "cuda" and variant != "cuda graph":
        # The first steps try algorithms of convolutions out, which takes more than a step.
        torch.cuda.reset_peak_memory_stats()
        block()
        samples = sum(a.nbytes for a in data(work, batch))
        memory = (torch.cuda.max_memory_allocated() - held - samples) / 2**20
    return Row(work.id, batch, f"PyTorch {variant}", found, float(loss().detach()), memory)


def _held(device: str) -> int:
    """Bytes that earlier measurements still hold, which the next peak is counted without."""
    if device != "cuda":
        return 0
    gc.collect()
    return int(torch.cuda.memory_allocated())


def first_losses(work: Workload, batch: int, device: str, steps: int) -> list[float]:
    """Losses of the first steps from the shared start, for comparing systems."""
    step, loss = _trainer(work, batch, device, "eager")
    found = []
    for _ in range(steps):
        step()
        found.append(float(loss().detach()))
    return found


def _block(step: Callable[[], None], steps: int, device: str, loss: Callable[[], Any]) -> float:
    _sync(device)
    begun = time.perf_counter()
    for _ in range(steps):
        step()
    float(loss().detach())
    return time.perf_counter() - begun


def _trainer(
    work: Workload, batch: int, device: str, variant: str
) -> tuple[Callable[[], None], Callable[[], torch.Tensor]]:
    layers = TorchLayers(start(work), device)
    x_host, y_host = data(work, batch)
    x, y = _input(x_host, device), torch.from_numpy(y_host).long().to(device)
    fused = variant == "fused"
    capturable = {"capturable": True} if variant == "cuda graph" else {}
    if work.optimizer == "adam":
        fused_option = {"fused": True} if fused else {}
        optimizer: Any = torch.optim.Adam(layers.params, lr=1e-3, **fused_option, **capturable)
    else:
        fused_option = {"fused": True} if fused else {}
        optimizer = torch.optim.SGD(layers.params, lr=0.01, momentum=0.9, **fused_option)
    kept: dict[str, torch.Tensor] = {}

    def step() -> None:
        layers.restart()
        optimizer.zero_grad(set_to_none=variant != "cuda graph")
        loss = F.cross_entropy(work.network(layers, x), y)
        loss.backward()
        optimizer.step()
        kept["loss"] = loss

    if variant == "cuda graph":
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        return graph.replay, lambda: kept["loss"]
    return step, lambda: kept["loss"]


def eager_step(work: Workload, batch: int, device: str) -> Callable[[], None]:
    """One step of a workload, run eagerly: training where it has an optimiser, else inference."""
    return (
        _trainer(work, batch, device, "eager")[0] if work.optimizer else _infer(work, batch, device)
    )


def _infer(work: Workload, batch: int, device: str) -> Callable[[], None]:
    layers = TorchLayers(start(work), device)
    x = _input(data(work, batch)[0], device)
    kept: dict[str, torch.Tensor] = {}

    @torch.no_grad()
    def step() -> None:
        layers.restart()
        kept["y"] = work.network(layers, x)

    step()  # makes the running statistics
    layers.training = False
    return step


def infer_rows(work: Workload, batch: int, device: str, steps: int) -> list[Row]:
    """Inference times: eager, and CUDA graph where there is CUDA."""
    step = _infer(work, batch, device)
    with torch.no_grad():
        runs = {"eager": step}
        if device == "cuda":
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                step()
            runs["cuda graph"] = graph.replay
        rows = [
            Row(
                work.id,
                batch,
                f"PyTorch {name}",
                measure(partial(_infer_block, run, steps, device), steps),
            )
            for name, run in runs.items()
        ]
    return rows


def _infer_block(step: Callable[[], None], steps: int, device: str) -> float:
    _sync(device)
    begun = time.perf_counter()
    for _ in range(steps):
        step()
    _sync(device)
    return time.perf_counter() - begun
