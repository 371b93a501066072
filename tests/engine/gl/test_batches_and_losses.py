"""Batches are gathered, and cross-entropies and their gradients taken, as on a GPU."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.core.tensor import Ref
from studio.engine.gl.backend import GlBackend
from studio.engine.gl.device.buffers import Slice
from studio.engine.gl.device.readback import read_now
from studio.engine.gl.record.recorder import Recording, issue
from studio.engine.gl.shader.planned import PlannedDispatch, TableBinding
from studio.engine.gl.shader.source import assemble
from tests.engine.gl.naive import Array, close, draw
from tests.engine.gl.one_line import OneLine, run_line

pytestmark = pytest.mark.gl


@pytest.mark.parametrize("halo", [False, True])
@pytest.mark.parametrize("sample", [(), (7,), (8,), (3, 2, 4), (3, 5, 1)])
def test_a_batch_goes_round_the_order(
    backend: GlBackend, sample: tuple[int, ...], halo: bool
) -> None:
    data = draw(11, *sample).astype(np.float32)
    order = np.random.default_rng(3).permutation(11)[:9].astype(np.int32)
    step = np.array([0, 0, 7, 0, 0, 0, 0, 0], np.int32)
    pads = {"y": ((0, 0), *((1, 2),) * len(sample))} if halo and sample else {}
    operands = {"data": data, "order": order, "step": step, "y": (5, *sample)}
    line = OneLine("GATHER_BATCH", operands, None, ("y",), pads)
    found = run_line(backend, line, "y", variant="wide")["y"]
    np.testing.assert_array_equal(found, data[order[(7 + np.arange(5)) % 9]])


@pytest.mark.parametrize("width", [300, 301])
def test_invocations_copy_several_pieces_of_a_long_batch(backend: GlBackend, width: int) -> None:
    data = draw(30, width).astype(np.float32)
    order = np.random.default_rng(4).permutation(30).astype(np.int32)
    step = np.array([0, 0, 4, 0, 0, 0, 0, 0], np.int32)
    rows = 8000 if width % 4 == 0 else 2000
    operands = {"data": data, "order": order, "step": step, "y": (rows, width)}
    line = OneLine("GATHER_BATCH", operands, batched=("y",))
    found = run_line(backend, line, "y", variant="wide")["y"]
    np.testing.assert_array_equal(found, data[order[(4 + np.arange(rows)) % 30]])


def softmax(p: Array) -> Array:
    raised = np.exp(p - p.max(1, keepdims=True))
    return raised / raised.sum(1, keepdims=True)


def cross_entropy(p: Array, t: Array, weights: Array, source: str) -> tuple[Array, Array]:
    """Mean loss and its gradient, by the formulas of the manual."""
    rows = np.arange(len(t))
    unit = np.zeros_like(p)
    unit[rows, t] = 1.0
    shares = softmax(p) if source == "logits" else p / p.sum(1, keepdims=True)
    value = -np.log(np.clip(shares[rows, t], 1e-7, 1 - 1e-7)) * weights
    slope = shares - unit if source == "logits" else p - unit
    if source == "probs":
        slope = (1.0 - unit / shares[rows, t][:, None]) / p.sum(1, keepdims=True)
    return value.mean(), slope * weights[:, None] / len(t)


@pytest.mark.parametrize("source", ["logits", "softmax", "probs"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("rows", "classes"), [(1, 2), (70, 10), (5, 40), (3, 700), (2, 9000)])
def test_cross_entropy_against_classes(
    backend: GlBackend, rows: int, classes: int, weighted: bool, source: str
) -> None:
    p = draw(rows, classes)
    if source != "logits":
        p = softmax(p) * (1.0 if source == "softmax" else 3.0)
    t = np.random.default_rng(rows).integers(0, classes, rows).astype(np.int32)
    given = np.random.default_rng(9).uniform(0.5, 2.0, rows)
    weights = given if weighted else np.ones(rows)
    operands = {"p": p, "t": t, "weights": given if weighted else None, "y": ()}
    batched = ("p", "t", "weights") if weighted else ("p", "t")
    value, slope = cross_entropy(p, t, weights, source)
    line = OneLine("LOSS_SPARSE_CE", operands, batched=batched, source=source)
    close(run_line(backend, line, "y", gpu=True)["y"], value)
    line = OneLine("ROW_SPARSE_CE", {**operands, "y": (rows,)}, batched=(*batched, "y"),
                   source=source)  # fmt: skip
    each = run_line(backend, line, "y", gpu=True)["y"]
    close(each.mean(), value)
    line = OneLine("LOSS_MEAN", {"x": each, "y": ()}, batched=("x",))
    close(run_line(backend, line, "y", gpu=True)["y"], value)
    line = OneLine("GRADS_LOSS_SPARSE_CE", operands, {"y": np.array(2.0)}, batched,
                   source=source, set=("p",))  # fmt: skip
    close(run_line(backend, line, "dp", gpu=True)["dp"], 2.0 * slope)


def test_a_class_that_is_none_gives_nan(backend: GlBackend) -> None:
    p, t = draw(3, 10), np.array([0, 10, -1], np.int32)
    operands = {"p": p, "t": t, "weights": None, "y": ()}
    line = OneLine("GRADS_LOSS_SPARSE_CE", operands, {"y": np.array(1.0)}, ("p", "t"),
                   source="logits", set=("p",))  # fmt: skip
    found = run_line(backend, line, "dp", gpu=True)["dp"]
    assert np.isnan(found[1:]).all()
    assert np.isfinite(found[0]).all()


FARTHEST = """\
layout(std430, binding = 0) buffer farthest_block { int farthest[]; };
int reached = -1;
float p_at(int i) { reached = max(reached, i); return 1.0; }"""
EVERY_PLACE = """\
#include "lanes.glsl"
#include "kept_row.glsl"
void main() {
    float sum = 0.0;
    keep_row(0);
    for (int j = 0; j < PER_LANE; ++j) sum += row_value(0, j);
    farthest[THREAD] = reached + int(sum * RUNTIME_ZERO);
}"""


@pytest.mark.parametrize(("classes", "lanes"), [(40, 32), (511, 32), (5000, 256), (513, 32)])
def test_no_place_of_a_row_is_read_behind_its_end(
    backend: GlBackend, classes: int, lanes: int
) -> None:
    work, words = backend.work, bytes(4 * lanes)
    defines = {"CLASSES": classes, "LANES": lanes}
    source = assemble("probe", EVERY_PLACE, [], local=(lanes, 1, 1), constants=FARTHEST,
                      defines=defines, from_file=False)  # fmt: skip

    def farthest() -> Array:
        work.compile_all([source], None)
        info = work.engine.info
        recording = Recording(work.pool, info, work.compiled, no_storage, batch=1, rows=1)
        try:
            recording.record([PlannedDispatch(source, (TableBinding(words),), (1, 1, 1))])
            issue(work.gl, recording.dispatches)
            return read_now(work.pool, recording.table(words), work.engine.stopping)
        finally:
            recording.release()

    found = work.engine.call(farthest).view(np.int32)[:lanes]
    assert found.max() == classes - 1
    assert found.min() >= classes - lanes


def no_storage(ref: Ref) -> Slice:
    raise KeyError(ref)
