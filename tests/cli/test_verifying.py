"""``verify``: an exported file is compared with the report that travels with it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Answer


@pytest.fixture
def exported(glassbox: Callable[..., Answer], here: Path) -> Path:
    glassbox("export", "iris", "-o", "w.npz")
    return here / "w.npz"


@pytest.mark.slow
def test_a_file_is_known_by_its_report_wherever_it_is(
    glassbox: Callable[..., Answer], refused: Callable[..., str], exported: Path, here: Path
) -> None:
    lines = glassbox("verify", "w.npz").out.splitlines()
    assert lines[0].startswith("w.npz: unchanged since 20")
    assert lines[0].endswith("same model: max difference 0 on 30 samples")
    assert lines[1] == "read by Glassbox"
    told = glassbox("verify", "w.npz", "--json").json
    assert (told["unchanged"], told["same"], told["read_by"]) == (True, True, "Glassbox")
    away = here / "away"
    away.mkdir()
    shutil.copy(exported, away)
    assert "there is no report: expected w.npz.proof.json next to" in refused(
        "verify", "away/w.npz"
    )
    shutil.copy(f"{exported}.proof.json", away)
    glassbox("verify", "away/w.npz")
    content = bytearray((away / "w.npz").read_bytes())
    content[-200] ^= 1
    (away / "w.npz").write_bytes(content)
    answer = glassbox("verify", "away/w.npz", code=1)
    assert "this is not the file that was verified: its SHA-256 is " in answer.err
    assert answer.out == ""
    told = glassbox("verify", "away/w.npz", "--json", code=1).json
    assert told["unchanged"] is False
    assert told["sha256"] != told["expected"]
    assert "cannot be read" in refused("verify", "nothere.npz")


@pytest.mark.slow
def test_a_damaged_report_is_refused_and_a_failed_check_is_a_failure(
    glassbox: Callable[..., Answer], refused: Callable[..., str], exported: Path
) -> None:
    report = Path(f"{exported}.proof.json")
    said = json.loads(report.read_text())

    def edited(**other: object) -> None:
        report.write_text(json.dumps({**said, **other}))

    edited(same=False, finding="not the same model: it differs")
    assert "not the same model: it differs" in glassbox("verify", "w.npz", code=1).err
    edited(same=None, finding="not compared: no answer")
    assert "not compared: no answer" in glassbox("verify", "w.npz", code=1).err
    for other, text in (
        ({"format": "else"}, "this is no report of an export"),
        ({"version": 2}, "expected version 1 of a report, got 2"),
        ({"sha256": 3}, "the report is damaged: sha256 has another form"),
        ({"sha256": ""}, "the report is damaged: sha256 has another form"),
        ({"same": "yes"}, "the report is damaged: same has another form"),
    ):
        edited(**other)
        assert text in refused("verify", "w.npz")
    report.write_text("[" * 100)
    assert "nest" in refused("verify", "w.npz")
