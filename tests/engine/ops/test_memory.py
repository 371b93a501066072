"""Scopes, counts, profiles, check mode, listings and files."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from studio.engine import ops
from studio.engine.core.errors import FormatError, NumericError, StudioError
from studio.engine.ops.listings import tensor_html

pytestmark = pytest.mark.slow


def test_counts_are_exact_after_many_scopes(device: str) -> None:
    gc.collect()
    x = ops.tensor(np.ones((4, 4), np.float32))
    total = ops.variable(0.0)
    counts = set()
    runs = 10_000
    for number in range(runs):
        with ops.tidy():
            y = x * 2
            if number % 50 == 0:
                total.assign(ops.sum(y))
            # The first runs fill the pool of buffers.
            if number % 50 == 0 and number > runs // 2:
                held = ops.memory()
                counts.add((held.tensors, held.bytes, held.device_bytes, held.buffers))
    gc.collect()
    found = ops.memory()
    assert (found.tensors, found.bytes) == (2, 68)
    assert total.item() == 32
    assert len(counts) == 1
    assert counts.pop()[:2] == (3, 132)


def test_results_and_kept_tensors_outlive_their_scope(cpu: str) -> None:
    gc.collect()
    x = ops.tensor([1.0])
    before = ops.memory().tensors
    held: list[Any] = []

    def inner() -> Any:
        held.append(x * 5)
        held.append(ops.keep(x * 6))
        return [x * 2, {"three": x * 3}]

    def outer() -> Any:
        two, rest = ops.tidy(inner)
        held.append(two)
        return rest["three"]

    three = ops.tidy(outer)
    assert three.item() == 3
    assert held[1].item() == 6
    for gone in (held[0], held[2]):
        with pytest.raises(StudioError, match="disposed of"):
            gone.numpy()
        assert "disposed" in repr(gone)
    assert ops.memory().tensors == before + 2
    ops.dispose([three, held[1]])
    assert ops.memory().tensors == before


def test_a_scope_that_fails_forgets_too(cpu: str) -> None:
    gc.collect()
    x = ops.tensor([1.0])
    before = ops.memory().tensors

    def work() -> None:
        y = x + 1
        y.numpy()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ops.tidy(work)
    assert ops.memory().tensors == before


def test_profiles_name_operations(device: str) -> None:
    x = ops.tensor(np.ones((8, 8), np.float32))
    with ops.profile() as seen:
        for _ in range(3):
            y = ops.exp(x) @ x
            y.numpy()
    rows = {name for row in seen.rows for name in row.operation.split("+")}
    assert {"exp", "matmul"} <= rows
    assert (seen.new_tensors, seen.new_bytes) == (3, 3 * 256)
    assert seen.kernel_us > 0
    assert __file__ in seen.rows[0].sources[0]
    assert seen.table().splitlines()[0].split()[:2] == ["operation", "calls"]
    timing = ops.time(lambda: ops.exp(x))
    assert timing.wall_ms > 0
    assert timing.result.numpy()[0, 0] == pytest.approx(np.e)


def test_check_mode_names_operation_and_line(device: str) -> None:
    x = ops.tensor([1.0, -1.0])
    ops.check()
    try:
        y = x * 2
        with pytest.raises(NumericError, match=r"^\[log\].*test_memory.py:\d+"):
            ops.log(y)
        with pytest.raises(NumericError, match="divide"):
            ops.grad(lambda a: ops.sum(a / (a - a)))(x)
        assert y.numpy().tolist() == [2, -2]
    finally:
        ops.check(False)
    assert np.isnan(ops.log(x).numpy()[1])


def test_listings_show_what_was_typed(cpu: str) -> None:
    x = ops.tensor([[1.0, 2.0]])
    y = ops.exp(x) + 1
    text = str(ops.listing())
    assert [line.split()[0] for line in text.splitlines()] == ["EXP", "ADD"]
    assert "test_memory.py" in text
    y.numpy()
    assert str(ops.listing()) == text
    found = ops.listing(lambda a: ops.grad(lambda b: ops.sum(b * b))(a), x)
    assert "GRADS_MUL" in str(found)
    assert len(found) == len(str(found).splitlines())
    assert ">GRADS_MUL 0x1 0x1 0x2</td>" in found.html()


def test_tensors_show_themselves(cpu: str) -> None:
    x = ops.tensor(np.arange(1000.0).reshape(20, 50))
    assert repr(ops.tensor([1.0, 2.0]) * 2) == "tensor([2., 4.], float32[2])"
    html = tensor_html(x)
    assert "float32[20,50]" in html
    assert "0 to 999" in html
    assert html.count("<tr>") == 13
    assert "1 not finite" in tensor_html(ops.log(ops.tensor([0.0, 1.0])))
    assert repr(ops.variable(1.0, name="w")).startswith("variable 'w': tensor(1.")
    for empty in (np.zeros((0, 3)), np.zeros((2, 0))):
        assert "float32" in tensor_html(ops.tensor(empty))


def test_files_bring_tensors_back(cpu: str, tmp_path: Path) -> None:
    w, n = ops.variable([[1.5, -2.0]], name="w"), ops.tensor([1, 2])
    path = tmp_path / "tensors.safetensors"
    ops.save(path, {"w": w, "n": n + 1})
    found = ops.load(path)
    assert {name: (t.dtype, t.numpy().tolist()) for name, t in found.items()} == {
        "w": ("float32", [[1.5, -2.0]]),
        "n": ("int32", [2, 3]),
    }
    ops.save(path, [w])
    assert list(ops.load(path)) == ["w"]
    with pytest.raises(FormatError, match="two variables are called 'w'"):
        ops.save(path, [w, ops.variable(1.0, name="w")])
    with pytest.raises(FormatError):
        ops.load(tmp_path / "none.safetensors")
