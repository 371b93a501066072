"""Kernels chosen by measurement: what is tried, what is kept, and that results stay the same."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from studio.engine.gl.backend import GlBackend
from studio.engine.gl.choices import SHIPPED
from studio.engine.gl.device_work import DeviceWork
from studio.engine.gl.products import product_passes
from studio.engine.gl.specs import Case, Pass, Traits, Variant, all_variants, choose
from studio.engine.gl.tiles import REGISTER_TILES, TILES, best_tile
from studio.engine.gl.timers import TimestampTimer
from studio.engine.gl.tuning import table as tables
from studio.engine.gl.tuning import trials
from studio.engine.gl.tuning.candidates import PROMISING, finer_and_coarser, first_cuts
from studio.engine.gl.tuning.signatures import case_signature, product_signature
from studio.engine.gl.tuning.table import (
    Measured,
    Table,
    keep_rows,
    load_choices,
    table_path,
)
from studio.engine.gl.tuning.trial_room import NumberBlock, TrialRoom
from tests.engine.gl.naive import close, draw
from tests.engine.gl.one_line import OneLine, run_line
from tests.engine.gl.tuned_lines import (
    case_of,
    check_parts,
    linear,
    other_tiles,
    products_of,
    take_for_a_gpu,
    tile_of,
)

DEVICE = "somebody|a device|driver 1.2|4.30"
OTHER = "somebody|a device|driver 1.3|4.30"
ROWS = {
    "linear 5x9x7 #0123456789": Measured("registers_4x4", 2, 12.5, 1.25),
    "MAXPOOL2D x[1,2,2,4] #aa": Measured("simple", 0, 3.0, 2.0),
}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own; the file of the table in it."""
    monkeypatch.setenv("GLASSBOX_CACHE_DIR", str(tmp_path / "cache"))
    path = table_path()
    assert path is not None
    return path


@pytest.fixture
def backend(cache: Path) -> Iterator[GlBackend]:
    made = GlBackend()
    yield made
    made.close()


# -- the file -----------------------------------------------------------------------------------


def test_table_is_read_back_as_it_was_kept(cache: Path) -> None:
    assert load_choices(DEVICE) is SHIPPED
    assert keep_rows(DEVICE, ROWS) == cache
    found = load_choices(DEVICE)
    assert isinstance(found, Table)
    assert found.rows == ROWS


def test_new_rows_join_the_old_ones_and_stale_ones_go(cache: Path) -> None:
    first, second = ROWS
    keep_rows(DEVICE, ROWS)
    better = Measured("registers_8x8", 1, 9.0, 1.5)
    keep_rows(DEVICE, {first: better, "linear 1x1x1 #00": better}, stale=[second])
    assert tables.load_rows(cache, DEVICE) == {first: better, "linear 1x1x1 #00": better}


def test_devices_and_drivers_have_rows_of_their_own(
    cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    keep_rows(DEVICE, ROWS)
    with caplog.at_level(logging.INFO, logger=tables.__name__):
        assert load_choices(OTHER) is SHIPPED
    (line,) = caplog.records
    assert line.levelno == logging.INFO
    assert "another device's or driver's" in line.getMessage()
    keep_rows(OTHER, {})
    assert tables.load_rows(cache, DEVICE) == ROWS
    assert load_choices(OTHER) is SHIPPED


def test_table_is_removed_once(cache: Path) -> None:
    keep_rows(DEVICE, ROWS)
    assert tables.forget()
    assert not cache.exists()
    assert not tables.forget()


def test_without_a_cache_folder_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLASSBOX_CACHE_DIR", "")
    assert load_choices(DEVICE) is SHIPPED
    assert not tables.forget()
    with pytest.raises(tables.BackendError, match="no cache folder"):
        keep_rows(DEVICE, ROWS)


def test_folder_that_cannot_be_written_is_said(tmp_path: Path, cache: Path) -> None:
    cache.parent.write_text("a file where the folder should be")
    with pytest.raises(tables.BackendError, match="cannot be kept"):
        keep_rows(DEVICE, ROWS)


def spoilt(change: str) -> bytes:
    """A sound table with one thing changed."""
    row = {"variant": "registers_4x4", "parts": 2, "median_us": 12.5, "gain": 1.25}
    entry = {"kernels": tables.kernels_digest(), "choices": {"linear": row}}
    whole = {"format": tables.FORMAT, "version": tables.VERSION, "devices": {DEVICE: entry}}
    match change:
        case "nothing":
            pass
        case "format":
            whole["format"] = "glassbox-project"
        case "version":
            whole["version"] = 0
        case "devices":
            whole["devices"] = [entry]
        case "device":
            whole["devices"] = {DEVICE: []}
        case "kernels":
            entry["kernels"] = "0" * 16
        case "choices":
            entry["choices"] = None
        case "row":
            entry["choices"] = {"linear": "registers_4x4"}
        case "missing":
            del row["gain"]
        case _:
            name, _, text = change.partition("=")
            row[name] = json.loads(text)
    return json.dumps(whole).encode()


def test_the_table_that_is_spoilt_below_is_sound(cache: Path) -> None:
    cache.parent.mkdir()
    cache.write_bytes(spoilt("nothing"))
    assert isinstance(load_choices(DEVICE), Table)


BROKEN = {
    "empty": b"",
    "text": b"what is this",
    "bytes": bytes(range(128, 256)),
    "half": spoilt("nothing")[:-20],
    "list": b"[1, 2]",
    "deep": b"[" * 200_000,
    **{
        change: spoilt(change)
        for change in (
            "format", "version", "devices", "device", "kernels", "choices", "row", "missing",
            "parts=-1", "parts=1.5", "parts=true", "parts=1000000000", "parts=null",
            "median_us=0", "median_us=NaN", "median_us=1e999", 'gain="fast"', "gain=-1",
            "variant=7",
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_table_of_no_use_is_passed_over_with_one_line(
    cache: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    cache.parent.mkdir()
    cache.write_bytes(BROKEN[name])
    with caplog.at_level(logging.INFO, logger=tables.__name__):
        assert load_choices(DEVICE) is SHIPPED
    (line,) = caplog.records
    assert line.levelno == logging.WARNING
    assert "are not used" in line.getMessage()
    keep_rows(DEVICE, ROWS)
    assert tables.load_rows(cache, DEVICE) == ROWS


def test_table_too_large_to_be_one_is_not_read(
    cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache.parent.mkdir()
    with cache.open("wb") as file:
        file.truncate(1 << 30)
    assert load_choices(DEVICE) is SHIPPED
    assert "too large" in caplog.text


# -- signatures and candidates ------------------------------------------------------------------


def test_signatures_tell_shapes_and_layouts_apart() -> None:
    (first,) = products_of(case_of(linear()[0]))
    same = linear()[0]
    assert product_signature(case_of(same), first).startswith("linear 6x8x16 bias #")
    signs = set()
    for line in (same, linear(rows=7)[0], linear(inner=20)[0], linear(out=9)[0]):
        case = case_of(line)
        (product,) = products_of(case)
        signs.add((product_signature(case, product), case_signature(case)))
    assert len(signs) == 4
    assert len({a for a, _ in signs}) == len({b for _, b in signs}) == 4
    x, w = draw(6, 16), draw(8, 16)
    operands = {"w": w, "x": x, "y": (6, 8), "b": None}
    sets = OneLine("GRADS_LINEAR", operands, {"y": draw(6, 8)}, ("x", "y"), set=("x", "w"))
    adds = OneLine("GRADS_LINEAR", operands, {"y": draw(6, 8)}, ("x", "y"), set=("x",))
    assert case_signature(case_of(sets)) != case_signature(case_of(adds))


@pytest.mark.parametrize("software", [False, True])
def test_candidates_begin_with_the_shipped_one_and_never_repeat(software: bool) -> None:
    tiles = REGISTER_TILES if software else TILES
    (product,) = products_of(case_of(linear(rows=64, inner=4096, out=64)[0]))
    shipped = best_tile(64, 64, 4096, 1, tiles, software=software)
    cuts = first_cuts(product, tiles, software=software)
    assert cuts[0] == shipped
    assert 1 < len(cuts) == len({tile for tile, _ in cuts})
    assert PROMISING > 1
    finer, coarser = finer_and_coarser(product, (tiles[-1], 4), shipped, software=software)
    found = [parts for _, parts in coarser]
    assert found == [2, 1]
    more = [parts for _, parts in finer]
    assert more == [8 * 2**k for k in range(len(more))]
    assert all(4096 // parts >= (1024 if software else 64) for parts in more)


# -- what the planner does with them ------------------------------------------------------------


@pytest.mark.gl
@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("parts", [1, 2])
def test_planner_takes_the_measured_tile_and_cut(
    backend: GlBackend, monkeypatch: pytest.MonkeyPatch, parts: int, gpu: bool
) -> None:
    if gpu:
        take_for_a_gpu(monkeypatch)
    line, expected = linear(rows=9, inner=64, out=24)
    (product,) = products_of(case_of(line))
    sign = product_signature(case_of(line), product)
    session = backend.open_session()

    def texts() -> list[str]:
        executable = backend.compile(line.program, session, line.batch)
        found = [one.source.text for _, planned in executable.planned for one in planned]
        executable.close()
        return found

    shipped = texts()
    tile, _ = other_tiles(backend, product)
    backend.choose_by(Table({sign: Measured(tile, parts, 1.0, 2.0)}))
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
    sign = case_signature(case_of(line))
    session = backend.open_session()

    def variant() -> str:
        executable = backend.compile(line.program, session, line.batch)
        ((_, (one,)),) = executable.planned
        executable.close()
        return one.variant

    shipped = variant()
    for name, taken in (("simple", "simple"), ("nothing of that name", shipped)):
        backend.choose_by(Table({sign: Measured(name, 0, 1.0, 2.0)}))
        assert variant() == taken
    assert shipped != "simple"
    backend.choose_by(Table({sign: Measured("simple", 0, 1.0, 2.0)}))
    backend.prefer({"MAXPOOL2D": shipped})
    assert variant() == shipped, "what is asked for by name outranks what was measured"
    session.close()


def test_choices_are_named_by_what_they_choose() -> None:
    assert SHIPPED.name == ""
    first = Table(ROWS).name
    assert first.startswith("2 measured #")
    slower = {sign: replace(row, median_us=2 * row.median_us) for sign, row in ROWS.items()}
    assert Table(slower).name == first
    other = {sign: replace(row, variant="registers_8x8") for sign, row in ROWS.items()}
    assert Table(other).name != first


@pytest.mark.gl
@pytest.mark.parametrize("gpu", [False, True])
def test_backend_begins_with_what_was_kept_for_its_device(
    cache: Path, monkeypatch: pytest.MonkeyPatch, gpu: bool
) -> None:
    if gpu:
        take_for_a_gpu(monkeypatch)
    line, _ = linear(rows=9, inner=64, out=24)
    (product,) = products_of(case_of(line))
    sign = product_signature(case_of(line), product)
    with_table = []
    backend = GlBackend()
    kept = other_tiles(backend, product)
    for tile in kept:
        row = Measured(tile, 1, 1.0, 2.0)
        keep_rows(backend.fingerprint, {sign: row})
        backend.close()
        backend = GlBackend()
        assert backend.choices == Table({sign: row}).name
        session = backend.open_session()
        executable = backend.compile(line.program, session, line.batch)
        ((_, (one,)),) = executable.planned
        with_table.append(tile_of(one.source.text))
    backend.close()
    assert tuple(with_table) == kept
    assert len(set(kept)) == 2


# -- tuning -------------------------------------------------------------------------------------


@pytest.mark.gl
def test_tuning_tries_tiles_and_keeps_only_what_is_faster(backend: GlBackend) -> None:
    line, expected = linear(rows=64, inner=48, out=40)
    heard: list[tuple[int, int, str]] = []
    found = backend.tune([(line.program, line.batch)], 60, lambda *told: heard.append(told))
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
    backend.choose_by(Table(found.rows))
    close(run_line(backend, line, "y")["y"], expected)


@pytest.mark.gl
def test_gradients_are_tuned_product_by_product(backend: GlBackend) -> None:
    x, w, dy = draw(40, 32), draw(24, 32), draw(40, 24)
    operands = {"w": w, "b": draw(24), "x": x, "y": (40, 24)}
    old = {"y": dy, "w": draw(24, 32)}
    line = OneLine("GRADS_LINEAR", operands, old, ("x", "y"), set=("x", "b"))
    found = backend.tune([(line.program, line.batch)], 60)
    kernels = {one.signature.split()[0] for one in found.findings}
    assert kernels == {"grads_linear_dw", "grads_linear_dx"}
    assert not any(one.refused for one in found.findings), "adding kernels begin alike"
    tile = "registers_4x4" if backend.info.is_software else "tiles_32x64"
    rows = {one.signature: Measured(tile, 1, 1.0, 2.0) for one in found.findings}
    backend.choose_by(Table(rows))
    answer = run_line(backend, line, "dw", "dx", "db")
    close(answer["dw"], old["w"] + dy.T @ x)
    close(answer["dx"], dy @ w)
    close(answer["db"], dy.sum(0))


@pytest.mark.gl
@pytest.mark.parametrize("parts", [1, 2])
def test_tail_of_a_group_is_tried_and_run_with_its_producer(backend: GlBackend, parts: int) -> None:
    line, expected = linear(rows=9, inner=64, out=24)
    (product,) = products_of(case_of(line))
    line.follow("RELU")
    (one,) = backend.tune([(line.program, line.batch)], 60).findings
    assert one.refused == ()
    tile, _ = other_tiles(backend, product)
    backend.choose_by(Table({one.signature: Measured(tile, parts, 1.0, 2.0)}))
    session = backend.open_session()
    executable = backend.compile(line.program, session, line.batch)
    ((_, planned),) = executable.planned
    check_parts(backend, [dispatch.source.text for dispatch in planned], parts)
    for tensor, values in line.feeds.items():
        executable.feed(tensor, values.astype(np.float32))
    executable.run()
    close(executable.fetch(line.refs["z"]).result(), np.maximum(expected, 0))
    session.close()


def without_bias(case: Case) -> tuple[Pass, ...]:
    """A plan with a mistake: it forgets the bias."""
    (product,) = products_of(case)
    return product_passes(case, replace(product, bias=None), REGISTER_TILES)


def unreadable(case: Case) -> tuple[Pass, ...]:
    """A plan whose kernel no driver takes."""
    return (Pass("linear", defines={"TILE_M": "nonsense"}),)


@pytest.mark.gl
def test_candidate_with_other_results_is_left_out(
    backend: GlBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    line, expected = linear(rows=16, inner=16, out=24)
    wrong = (Variant("forgetful", without_bias), Variant("unreadable", unreadable))
    monkeypatch.setitem(all_variants(), "LINEAR", (*all_variants()["LINEAR"], *wrong))
    found = backend.tune([(line.program, line.batch)], 60)
    product, instruction = found.findings
    assert product.refused == ()
    assert instruction.signature == case_signature(case_of(line))
    assert instruction.best.variant == choose(case_of(line, backend._work.traits)).name
    first, second = sorted(instruction.refused)
    assert first.startswith("forgetful: its results are not those")
    assert second.startswith("unreadable: ")
    assert instruction.signature not in found.rows
    backend.choose_by(Table(found.rows))
    close(run_line(backend, line, "y")["y"], expected)


@pytest.mark.gl
def test_what_cannot_run_alone_is_named(
    backend: GlBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise tables.BackendError("memory is short")

    line, _ = linear()
    monkeypatch.setattr(trials.EntryTrials, "seconds", refused)
    found = backend.tune([(line.program, line.batch)], 60)
    assert found.findings == ()
    assert found.left == 0
    assert found.passed_over == ("LINEAR : memory is short",)


@pytest.mark.gl
def test_time_that_is_up_leaves_the_rest_as_shipped(backend: GlBackend) -> None:
    line, _ = linear()
    found = backend.tune([(line.program, line.batch)], 0)
    assert found.findings == ()
    assert found.left == 1
    assert found.rows == {}


@pytest.mark.gl
def test_room_of_trials_is_given_back(backend: GlBackend) -> None:
    line, _ = linear(rows=64, inner=48, out=40)
    backend.tune([(line.program, line.batch)], 60)
    counters = backend._work.pool.counters()
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
    work = backend._work

    def compared() -> bool:
        numbers = NumberBlock(work)
        room = TrialRoom(work, line.program, line.batch, line.batch, numbers)
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
    with clock, patch.object(DeviceWork, "traits", Traits()):
        found = backend.tune([(line.program, line.batch)], 300)
    (one,) = found.findings
    assert one.shipped[0].startswith("tiles_")
    assert one.tried >= 3
    assert one.refused == ()
    backend.choose_by(Table(found.rows))
    close(run_line(backend, line, "y")["y"], expected)


@pytest.mark.gl
def test_equal_shapes_are_tried_once(backend: GlBackend) -> None:
    line, _ = linear(rows=16, inner=32, out=24)
    followed, _ = linear(rows=16, inner=32, out=24)
    followed.follow("RELU")
    jobs = [(one.program, one.batch) for one in (line, followed, line)]
    found = backend.tune(jobs, 60)
    assert len(found.findings) == 1
    assert found.left == 0
    more = backend.tune([*jobs, (line.program, 2 * line.batch)], 60)
    assert [one.signature.split()[1] for one in more.findings].count("16x24x32") == 1
    assert {one.signature.split()[1] for one in more.findings} == {"16x24x32", "32x24x32"}
