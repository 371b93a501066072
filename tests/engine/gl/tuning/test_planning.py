"""Programs are planned by what was measured, where it applies, with the same results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from studio.engine.gl.backend import GlBackend
from studio.engine.gl.choices.measured_choices import Measured, MeasuredChoices, keep_rows
from studio.engine.gl.choices.signatures import op_signature, product_signature
from studio.engine.gl.kernels.specs import SHIPPED
from tests.engine.gl.naive import close, draw
from tests.engine.gl.one_line import OneLine, run_line
from tests.engine.gl.tuning.tuned_lines import (
    check_parts,
    linear,
    op_of,
    other_tiles,
    products_of,
    take_for_a_gpu,
    tile_of,
)


@pytest.mark.gl
@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("parts", [1, 2])
def test_planner_takes_the_measured_tile_and_cut(
    backend: GlBackend, monkeypatch: pytest.MonkeyPatch, parts: int, gpu: bool
) -> None:
    if gpu:
        take_for_a_gpu(monkeypatch)
    line, expected = linear(rows=9, inner=64, out=24)
    (product,) = products_of(op_of(line))
    sign = product_signature(op_of(line), product)
    session = backend.open_session()

    def texts() -> list[str]:
        executable = backend.compile(line.program, session, line.batch)
        found = [one.source.text for _, planned in executable.planned for one in planned]
        executable.close()
        return found

    shipped = texts()
    tile, _ = other_tiles(backend, product)
    backend.choose_by(MeasuredChoices({sign: Measured(tile, parts, 1.0, 2.0)}))
    tuned = texts()
    assert tile_of(shipped[0]) != tile_of(tuned[0]) == tile
    check_parts(backend, tuned, parts)
    first = run_line(backend, line, "y")["y"]
    close(first, expected)
    assert np.array_equal(first, run_line(backend, line, "y")["y"])
    backend.choose_by(SHIPPED)
    assert texts() == shipped
    session.close()


@pytest.mark.gl
def test_planner_takes_the_measured_variant_where_it_applies(backend: GlBackend) -> None:
    x = draw(2, 4, 4, 8)
    fields = {"window_h": 2, "window_w": 2, "stride_h": 2, "stride_w": 2}
    line = OneLine("MAXPOOL2D", {"x": x, "y": (2, 2, 2, 8)}, batched=("x", "y"), **fields)
    sign = op_signature(op_of(line))
    session = backend.open_session()

    def variant() -> str:
        executable = backend.compile(line.program, session, line.batch)
        ((_, (one,)),) = executable.planned
        executable.close()
        return one.variant

    shipped = variant()
    for name, taken in (("simple", "simple"), ("nothing of that name", shipped)):
        backend.choose_by(MeasuredChoices({sign: Measured(name, 0, 1.0, 2.0)}))
        assert variant() == taken
    assert shipped != "simple"
    backend.choose_by(MeasuredChoices({sign: Measured("simple", 0, 1.0, 2.0)}))
    backend.prefer({"MAXPOOL2D": shipped})
    assert variant() == shipped, "what is asked for by name outranks what was measured"
    session.close()


@pytest.mark.gl
@pytest.mark.parametrize("gpu", [False, True])
def test_backend_begins_with_what_was_kept_for_its_device(
    cache: Path, monkeypatch: pytest.MonkeyPatch, gpu: bool
) -> None:
    if gpu:
        take_for_a_gpu(monkeypatch)
    line, _ = linear(rows=9, inner=64, out=24)
    (product,) = products_of(op_of(line))
    sign = product_signature(op_of(line), product)
    with_table = []
    backend = GlBackend()
    kept = other_tiles(backend, product)
    for tile in kept:
        row = Measured(tile, 1, 1.0, 2.0)
        keep_rows(backend.fingerprint, {sign: row})
        backend.close()
        backend = GlBackend()
        assert backend.choices == MeasuredChoices({sign: row}).name
        session = backend.open_session()
        executable = backend.compile(line.program, session, line.batch)
        ((_, (one,)),) = executable.planned
        with_table.append(tile_of(one.source.text))
    backend.close()
    assert tuple(with_table) == kept
    assert len(set(kept)) == 2
