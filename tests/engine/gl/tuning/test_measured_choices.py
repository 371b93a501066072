"""The file of measured choices: what is kept, for which device, and what is passed over."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest

from studio.engine.gl.choices import measured_choices
from studio.engine.gl.choices.measured_choices import (
    Measured,
    MeasuredChoices,
    keep_rows,
    load_choices,
)
from studio.engine.gl.kernels.specs import SHIPPED

DEVICE = "somebody|a device|driver 1.2|4.30"
OTHER = "somebody|a device|driver 1.3|4.30"
ROWS = {
    "linear 5x9x7 #0123456789": Measured("registers_4x4", 2, 12.5, 1.25),
    "MAXPOOL2D x[1,2,2,4] #aa": Measured("simple", 0, 3.0, 2.0),
}


def test_table_is_read_back_as_it_was_kept(cache: Path) -> None:
    assert load_choices(DEVICE) is SHIPPED
    assert keep_rows(DEVICE, ROWS) == cache
    found = load_choices(DEVICE)
    assert isinstance(found, MeasuredChoices)
    assert found.rows == ROWS


def test_new_rows_join_the_old_ones_and_stale_ones_go(cache: Path) -> None:
    first, second = ROWS
    keep_rows(DEVICE, ROWS)
    better = Measured("registers_8x8", 1, 9.0, 1.5)
    keep_rows(DEVICE, {first: better, "linear 1x1x1 #00": better}, stale=[second])
    assert measured_choices.load_rows(cache, DEVICE) == {first: better, "linear 1x1x1 #00": better}


def test_devices_and_drivers_have_rows_of_their_own(
    cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    keep_rows(DEVICE, ROWS)
    with caplog.at_level(logging.INFO, logger=measured_choices.__name__):
        assert load_choices(OTHER) is SHIPPED
    (line,) = caplog.records
    assert line.levelno == logging.INFO
    assert "another device or driver" in line.getMessage()
    keep_rows(OTHER, {})
    assert measured_choices.load_rows(cache, DEVICE) == ROWS
    assert load_choices(OTHER) is SHIPPED


def test_table_is_removed_once(cache: Path) -> None:
    keep_rows(DEVICE, ROWS)
    assert measured_choices.forget()
    assert not cache.exists()
    assert not measured_choices.forget()


def test_without_a_cache_folder_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLASSBOX_CACHE_DIR", "")
    assert load_choices(DEVICE) is SHIPPED
    assert not measured_choices.forget()
    with pytest.raises(measured_choices.BackendError, match="no cache folder"):
        keep_rows(DEVICE, ROWS)


def test_folder_that_cannot_be_written_is_said(tmp_path: Path, cache: Path) -> None:
    cache.parent.write_text("a file where the folder should be")
    with pytest.raises(measured_choices.BackendError, match="cannot be saved"):
        keep_rows(DEVICE, ROWS)


def spoilt(change: str) -> bytes:
    """A sound table with one thing changed."""
    row = {"variant": "registers_4x4", "parts": 2, "median_us": 12.5, "gain": 1.25}
    entry = {"kernels": measured_choices.kernels_digest(), "choices": {"linear": row}}
    whole = {
        "format": measured_choices.FORMAT,
        "version": measured_choices.VERSION,
        "devices": {DEVICE: entry},
    }
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
    assert isinstance(load_choices(DEVICE), MeasuredChoices)


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
    with caplog.at_level(logging.INFO, logger=measured_choices.__name__):
        assert load_choices(DEVICE) is SHIPPED
    (line,) = caplog.records
    assert line.levelno == logging.WARNING
    assert "are not used" in line.getMessage()
    keep_rows(DEVICE, ROWS)
    assert measured_choices.load_rows(cache, DEVICE) == ROWS


def test_table_too_large_to_be_one_is_not_read(
    cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache.parent.mkdir()
    with cache.open("wb") as file:
        file.truncate(1 << 30)
    assert load_choices(DEVICE) is SHIPPED
    assert "too large" in caplog.text


def test_choices_are_named_by_what_they_choose() -> None:
    assert SHIPPED.name == ""
    first = MeasuredChoices(ROWS).name
    assert first.startswith("2 measured #")
    slower = {sign: replace(row, median_us=2 * row.median_us) for sign, row in ROWS.items()}
    assert MeasuredChoices(slower).name == first
    other = {sign: replace(row, variant="registers_8x8") for sign, row in ROWS.items()}
    assert MeasuredChoices(other).name != first
