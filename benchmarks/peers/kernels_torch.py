"""Single operations in PyTorch, for the rows W5 to W7."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - the name everybody knows

from benchmarks.timing import Row, enough_steps, measure

torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
torch.backends.cudnn.benchmark = True


def rows(device: str, sizes: tuple[int, ...], relu_elements: int) -> list[Row]:
    """Matrix products, ReLU, softmax, convolution, depthwise, and chained adds."""
    rng = np.random.default_rng(0)

    def tensor(*shape: int) -> torch.Tensor:
        return torch.from_numpy(rng.standard_normal(shape, dtype=np.float32)).to(device)

    found = []
    with torch.no_grad():
        for n in sizes:
            a, b, y = tensor(n, n), tensor(n, n), tensor(n, n)
            found.append(_row("W5", n, _timer(lambda a=a, b=b, y=y: torch.mm(a, b, out=y), device)))
        found.append(_row("W6 relu", relu_elements, _relu(relu_elements, device)))
        s = tensor(4096, 1024)
        found.append(_row("W6 softmax", 4096, _timer(lambda: torch.softmax(s, 1), device)))
        picture = tensor(8, 64, 56, 56).to(memory_format=torch.channels_last)
        kernel = tensor(64, 64, 3, 3).to(memory_format=torch.channels_last)
        found.append(
            _row("W6 conv", 8, _timer(lambda: F.conv2d(picture, kernel, padding=1), device))
        )
        wide = tensor(8, 64, 112, 112).to(memory_format=torch.channels_last)
        each = tensor(64, 1, 3, 3)
        depthwise = _timer(lambda: F.conv2d(wide, each, padding=1, groups=64), device)
        found.append(_row("W6 depthwise", 8, depthwise))
        small, other = tensor(16, 16), tensor(16, 16)

        def adds() -> None:
            total = small
            for _ in range(1000):
                total = total + other

        found.append(_row("W7", 1000, _timer(adds, device)))
    return found


def _relu(elements: int, device: str) -> tuple[Callable[[], float], int]:
    x = torch.randn(elements, device=device)
    y = torch.empty_like(x)
    return _timer(lambda: torch.clamp_min(x, 0, out=y), device)


def _row(work: str, batch: int, run: tuple[Callable[[], float], int]) -> Row:
    block, steps = run
    return Row(work, batch, "PyTorch eager", measure(block, steps))


def _timer(run: Callable[[], object], device: str) -> tuple[Callable[[], float], int]:
    def block(steps: int) -> float:
        if device == "cuda":
            torch.cuda.synchronize()
        begun = time.perf_counter()
        for _ in range(steps):
            run()
        if device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - begun

    steps = enough_steps(block)
    return lambda: block(steps), steps
