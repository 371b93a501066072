"""What trials find is held against whole steps, and dropped where they are slower by it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from studio.engine.core.errors import BackendError
from studio.engine.gl.backend import GlBackend
from studio.engine.gl.choices.measured_choices import Measured
from studio.engine.gl.choices.signatures import product_signature
from studio.engine.gl.kernels.specs import SHIPPED
from studio.engine.gl.run.executable import GlExecutable
from studio.engine.gl.tuning import whole_steps
from studio.engine.gl.tuning.findings import Finding, Tuning
from studio.engine.gl.tuning.whole_steps import hold_against_steps, in_turn
from tests.engine.gl.one_line import OneLine
from tests.engine.gl.tuning.tuned_lines import (
    linear,
    op_of,
    other_tiles,
    products_of,
    take_for_a_gpu,
    tile_of,
)


@pytest.fixture
def backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GlBackend]:
    monkeypatch.setenv("GLASSBOX_CACHE_DIR", str(tmp_path / "cache"))
    made = GlBackend()
    yield made
    made.close()


def found_better(backend: GlBackend, line: OneLine) -> Tuning:
    """What trials say that found another tile to be better for the only product of a line."""
    (product,) = products_of(op_of(line))
    sign = product_signature(op_of(line), product)
    tile, _ = other_tiles(backend, product)
    finding = Finding(sign, ("shipped", 1), Measured(tile, 1, 1.0, 2.0), 2)
    return Tuning((finding,), 0, 1.0, "a clock")


@pytest.mark.gl
@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("slower", [False, True])
def test_choice_by_which_a_step_is_slower_is_dropped(
    backend: GlBackend, monkeypatch: pytest.MonkeyPatch, slower: bool, gpu: bool
) -> None:
    if gpu:
        take_for_a_gpu(monkeypatch)
    line, _ = linear(rows=9, inner=64, out=24)
    ran: list[list[str]] = []

    def timed(first: GlExecutable, second: GlExecutable, *, software: bool) -> tuple[float, float]:
        ran.extend(
            [tile_of(p.source.text) for _, planned in one.planned for p in planned]
            for one in (first, second)
        )
        return 3.0, 4.0 if slower else 2.0

    monkeypatch.setattr(whole_steps, "in_turn", timed)
    before = found_better(backend, line)
    (sign,) = before.rows
    after = hold_against_steps(backend, [(line.program, line.batch)], before)
    shipped, tuned = ran
    assert shipped != tuned == [before.rows[sign].variant]
    assert (after.rows, after.stale) == (({}, (sign,)) if slower else (before.rows, ()))
    assert after.dropped == ({sign} if slower else set())
    assert [(step.shipped, step.tuned) for step in after.steps] == ([] if slower else [(3.0, 2.0)])
    assert backend.choices == SHIPPED.name


@pytest.mark.gl
def test_choice_that_no_step_takes_is_dropped(backend: GlBackend) -> None:
    line, _ = linear(rows=9, inner=64, out=24)
    other, _ = linear(rows=9, inner=32, out=16)
    before = found_better(backend, line)
    after = hold_against_steps(backend, [(other.program, other.batch)], before)
    assert (after.rows, after.steps) == ({}, ())
    assert after.dropped == {*before.rows}


@pytest.mark.gl
def test_steps_are_run_by_both_choices_where_they_differ(
    backend: GlBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[tuple[float, float]] = []

    def timed(first: GlExecutable, second: GlExecutable, *, software: bool) -> tuple[float, float]:
        found.append(in_turn(first, second, software=software))
        return 2.0, 1.0

    monkeypatch.setattr(whole_steps, "in_turn", timed)
    line, _ = linear(rows=9, inner=64, out=24)
    other, _ = linear(rows=9, inner=32, out=24)
    jobs = [(other.program, other.batch), (line.program, line.batch)]
    (step,) = hold_against_steps(backend, jobs, found_better(backend, line)).steps
    assert (step.program, step.batch) == (line.program.name, line.batch)
    (times,) = found
    assert min(times) > 0
    assert backend.work.pool.counters().in_use == 0


@pytest.mark.gl
def test_choices_that_cannot_be_held_against_steps_are_dropped(
    backend: GlBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise BackendError("memory is short")

    line, _ = linear(rows=9, inner=64, out=24)
    monkeypatch.setattr(GlBackend, "compile", refused)
    found = hold_against_steps(backend, [(line.program, 1)], found_better(backend, line))
    assert found.rows == {}
    assert found.passed_over == ("whole steps: memory is short",)
