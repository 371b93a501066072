"""``start.py test``: the checks, the tests, and what runs beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from start import CODE_CHECKS
from tools import whole_suite


def waits_for(path: Path) -> str:
    return f"import os, time\nwhile not os.path.exists({str(path)!r}): time.sleep(0.01)\n"


def test_what_runs_beside_the_tests_is_told_behind_them(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    began, went_on = tmp_path / "began", tmp_path / "went on"
    # Neither ends unless both run at the same time.
    aside = f"open({str(began)!r}, 'w').close()\n{waits_for(went_on)}"
    steps = {
        "lint": ["-c", "pass"],
        whole_suite.BESIDE: ["-c", f"{aside}print('found an error')\nraise SystemExit(1)"],
        "tests": ["-c", f"{waits_for(began)}open({str(went_on)!r}, 'w').close()"],
    }
    assert whole_suite.run_steps(steps) == 1
    said = capfd.readouterr().err
    places = [said.index(each) for each in ("== lint", "== tests", "found an error", "== summary")]
    assert places == sorted(places)
    assert f"FAILED: {whole_suite.BESIDE} (" in said
    assert whole_suite.run_steps({"a": ["-c", "pass"], whole_suite.BESIDE: ["-c", "pass"]}) == 0
    assert whole_suite.run_steps({"a": ["-c", "1/0"], whole_suite.BESIDE: ["-c", "pass"]}) == 1


def test_the_longest_check_is_one_of_them() -> None:
    assert whole_suite.BESIDE in CODE_CHECKS
