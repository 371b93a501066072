"""Kernels tried on the device: what is found, what is refused, what is given back."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

from studio.engine.compiler.passes.fuse_statistics import fuse_statistics
from studio.engine.compiler.target import GL
from studio.engine.core.tensor import BATCH
from studio.engine.gl.backend import GlBackend
from studio.engine.gl.choices import measured_choices
from studio.engine.gl.choices.measured_choices import Measured, MeasuredChoices
from studio.engine.gl.choices.signatures import op_signature
from studio.engine.gl.device.timers import TimestampTimer
from studio.engine.gl.kernels.families import all_variants, choose
from studio.engine.gl.kernels.products.dense_products import product_dispatches
from studio.engine.gl.kernels.specs import BoundInstruction, DispatchSpec, Variant
from studio.engine.gl.kernels.tiles import REGISTER_TILES
from studio.engine.gl.tuning import trials
from studio.engine.gl.tuning.trial_storages import NumberBlock, TrialStorages
from studio.engine.gl.tuning.tuner import tune_kernels
from tests.engine.gl.gl_programs import Lines
from tests.engine.gl.naive import close, draw
from tests.engine.gl.one_line import OneLine, planned_for, run_line
from tests.engine.gl.tuning.tuned_lines import (
    check_parts,
    linear,
    op_of,
    other_tiles,
    products_of,
)


@pytest.mark.slow
@pytest.mark.gl
def test_tuning_tries_tiles_and_keeps_only_what_is_faster(backend: GlBackend) -> None:
    line, expected = linear(rows=64, inner=48, out=40)
    heard: list[tuple[int, int, str]] = []
    found = tune_kernels(
        backend, [(line.program, line.batch)], 60, lambda *told: heard.append(told)
    )
    (one,) = found.findings
    assert one.signature.startswith("linear 64x40x48 bias #")
    assert one.tried >= 2
    assert one.refused == ()
    assert one.best.median_us > 0
    assert one.improved == (one.best.gain > 1)
    assert found.keeps(one) == (one.signature in found.rows) == (one.improved and not found.dropped)
    assert (one.signature in found.stale) != found.keeps(one)
    assert heard == [(0, 1, "LINEAR ")]
    assert found.left == 0
    assert found.clock == ("wall clock" if backend.info.is_software else "gpu timestamps")
    backend.choose_by(MeasuredChoices(found.rows))
    close(run_line(backend, line, "y")["y"], expected)


@pytest.mark.slow
@pytest.mark.gl
def test_gradients_are_tuned_product_by_product(backend: GlBackend) -> None:
    x, w, dy = draw(40, 32), draw(24, 32), draw(40, 24)
    operands = {"w": w, "b": draw(24), "x": x, "y": (40, 24)}
    old = {"y": dy, "w": draw(24, 32)}
    line = OneLine("GRADS_LINEAR", operands, old, ("x", "y"), set=("x", "b"))
    found = tune_kernels(backend, [(line.program, line.batch)], 60)
    kernels = {one.signature.split()[0] for one in found.findings}
    assert kernels == {"grads_linear_dw", "grads_linear_dx"}
    assert not any(one.refused for one in found.findings), "adding kernels begin alike"
    tile = "registers_4x4" if backend.info.is_software else "tiles_32x64"
    rows = {one.signature: Measured(tile, 1, 1.0, 2.0) for one in found.findings}
    backend.choose_by(MeasuredChoices(rows))
    answer = run_line(backend, line, "dw", "dx", "db")
    close(answer["dw"], old["w"] + dy.T @ x)
    close(answer["dx"], dy @ w)
    close(answer["db"], dy.sum(0))


@pytest.mark.slow
@pytest.mark.gl
@pytest.mark.parametrize("parts", [1, 2])
def test_tail_of_a_group_is_tried_and_run_with_its_producer(backend: GlBackend, parts: int) -> None:
    line, expected = linear(rows=9, inner=64, out=24)
    (product,) = products_of(op_of(line))
    line.follow("RELU")
    (one,) = tune_kernels(backend, [(line.program, line.batch)], 60).findings
    assert one.refused == ()
    tile, _ = other_tiles(backend, product)
    backend.choose_by(MeasuredChoices({one.signature: Measured(tile, parts, 1.0, 2.0)}))
    session = backend.open_session()
    executable = backend.compile(line.program, session, line.batch)
    ((_, planned),) = executable.planned
    check_parts(backend, [dispatch.source.text for dispatch in planned], parts)
    for tensor, values in line.feeds.items():
        executable.feed(tensor, values.astype(np.float32))
    executable.run()
    close(executable.fetch(line.refs["z"]).result(), np.maximum(expected, 0))
    session.close()


def without_bias(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    """A plan with a mistake: it forgets the bias."""
    (product,) = products_of(op)
    return product_dispatches(op, replace(product, bias=None), REGISTER_TILES)


def unreadable(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    """A plan whose kernel no driver takes."""
    return (DispatchSpec("linear", defines={"TILE_M": "nonsense"}),)


@pytest.mark.slow
@pytest.mark.gl
def test_candidate_with_other_results_is_left_out(
    backend: GlBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    line, expected = linear(rows=16, inner=16, out=24)
    wrong = (Variant("forgetful", without_bias), Variant("unreadable", unreadable))
    monkeypatch.setitem(all_variants(), "LINEAR", (*all_variants()["LINEAR"], *wrong))
    found = tune_kernels(backend, [(line.program, line.batch)], 60)
    product, instruction = found.findings
    assert product.refused == ()
    assert instruction.signature == op_signature(op_of(line))
    assert instruction.best.variant == choose(op_of(line, backend.work.caps)).name
    first, second = sorted(instruction.refused)
    assert first.startswith("forgetful: its results are not those")
    assert second.startswith("unreadable: ")
    assert instruction.signature not in found.rows
    backend.choose_by(MeasuredChoices(found.rows))
    close(run_line(backend, line, "y")["y"], expected)


@pytest.mark.gl
def test_what_cannot_run_alone_is_named(
    backend: GlBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise measured_choices.BackendError("memory is short")

    line, _ = linear()
    monkeypatch.setattr(trials.EntryTrials, "seconds", refused)
    found = tune_kernels(backend, [(line.program, line.batch)], 60)
    assert found.findings == ()
    assert found.left == 0
    assert found.passed_over == ("LINEAR : memory is short",)


@pytest.mark.gl
def test_time_that_is_up_leaves_the_rest_as_shipped(backend: GlBackend) -> None:
    line, _ = linear()
    found = tune_kernels(backend, [(line.program, line.batch)], 0)
    assert found.findings == ()
    assert found.left == 1
    assert found.rows == {}


@pytest.mark.gl
def test_room_of_trials_is_given_back(backend: GlBackend) -> None:
    line, _ = linear(rows=64, inner=48, out=40)
    tune_kernels(backend, [(line.program, line.batch)], 60)
    counters = backend.work.pool.counters()
    assert counters.bytes_high_water > 0
    assert counters.allocated == counters.in_use == 0


@pytest.mark.gl
@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({}, True),
        ({(2, 3): 1e-5}, True),
        ({(2, 3): 1e-3}, False),
        ({(63, 39): -1e-3}, False),
        ({(0, 0): float("nan")}, False),
    ],
)
def test_results_are_compared_element_by_element(
    backend: GlBackend, change: dict[tuple[int, int], float], same: bool
) -> None:
    line, _ = linear(rows=64, inner=48, out=40)
    y = line.refs["y"]
    values = np.linspace(-4, 4, 64 * 40, dtype=np.float32).reshape(64, 40)
    values[5, 5], values[6, 6] = np.nan, np.inf
    others = values.copy()
    for place, step in change.items():
        others[place] += step
    work = backend.work

    def compared() -> bool:
        numbers = NumberBlock(work)
        room = TrialStorages(work, line.program, line.batch, line.batch, numbers)
        work.pool.upload(room.where(y), values)
        room.keep([y])
        work.pool.upload(room.where(y), others)
        found = room.agrees([y])
        room.release()
        numbers.release()
        return found

    assert work.engine.call(compared) is same


@pytest.mark.gl
@pytest.mark.slow
def test_tiles_of_shared_memory_are_tuned_too(backend: GlBackend) -> None:
    line, expected = linear(rows=32, inner=256, out=24)
    # As on a GPU, whose clock is asked too; what it answers here is not looked at.
    clock = patch.object(trials, "step_timer", lambda gl, _: TimestampTimer(gl))
    with clock, planned_for(backend, GL):
        found = tune_kernels(backend, [(line.program, line.batch)], 300)
    (one,) = found.findings
    assert one.shipped[0].startswith("tiles_")
    assert one.tried >= 3
    assert one.refused == ()
    backend.choose_by(MeasuredChoices(found.rows))
    close(run_line(backend, line, "y")["y"], expected)


@pytest.mark.slow
@pytest.mark.gl
def test_equal_shapes_are_tried_once(backend: GlBackend) -> None:
    line, _ = linear(rows=16, inner=32, out=24)
    followed, _ = linear(rows=16, inner=32, out=24)
    followed.follow("RELU")
    jobs = [(one.program, one.batch) for one in (line, followed, line)]
    found = tune_kernels(backend, jobs, 60)
    assert len(found.findings) == 1
    assert found.left == 0
    more = tune_kernels(backend, [*jobs, (line.program, 2 * line.batch)], 60)
    assert [one.signature.split()[1] for one in more.findings].count("16x24x32") == 1
    assert {one.signature.split()[1] for one in more.findings} == {"16x24x32", "32x24x32"}


@pytest.mark.slow
@pytest.mark.gl
def test_sums_of_columns_are_no_part_of_a_trial(backend: GlBackend) -> None:
    """Variants cut them differently; they are compared by what the product makes."""
    lines = Lines()
    x, made, y = (lines.input("x", (BATCH, 48)), *(lines.made(n, (BATCH, 40)) for n in ("m", "y")))
    lines.add("forward", "LINEAR", x=x, w=lines.kept("w", (40, 48)), y=made)
    kept = {name: lines.kept(name, (40,)) for name in ("gamma", "beta", "mean", "var")}
    lines.add("forward", "BATCHNORM", x=made, y=y, **kept)
    plain = lines.program(y)
    fused = fuse_statistics(plain, GL)
    assert fused != plain
    found = tune_kernels(backend, [(plain, 64), (fused, 64)], 60)
    (one,) = found.findings
    assert one.signature.startswith("linear 64x40x48")
    assert one.refused == ()
    assert found.passed_over == ()
