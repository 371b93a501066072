"""The report beside an exported file: what it says, and that it speaks of that very file."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from studio.engine.core.errors import FormatError
from studio.engine.train.export.check.answers import Difference
from studio.engine.train.export.check.check import ExportCheck
from studio.engine.train.export.check.report import (
    forget_report,
    report_path,
    verify_file,
    write_report,
)

NAN = float("nan")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.gbi"
    path.write_bytes(b"weights" * 300_000)
    return path


def test_it_names_the_file_by_its_hash_and_says_how_far_answers_are_apart(model: Path) -> None:
    found = ExportCheck("gbi", 64, 3e-7, 2e-6, 3e-7, 64, same_bytes=True, seconds=1.0)
    written = write_report(model, "gbi", found, None)
    assert written == model.parent / "model.gbi.proof.json" == report_path(model)
    said = json.loads(written.read_text())
    assert said["sha256"] == sha256(model.read_bytes()).hexdigest()
    assert said["file"] == "model.gbi"
    assert said["finding"] == found.sentence
    assert (said["same"], said["samples"], said["same_class"]) == (True, 64, 64)
    assert (said["max_abs"], said["max_relative"]) == (3e-7, 2e-6)
    assert said["same_bytes_again"] is True
    assert said["reasons"] == []
    assert "first_difference" not in said


def test_a_difference_is_written_down_too_and_nan_stays_json(model: Path) -> None:
    first = Difference(7, "3 (0.98)", "8 (0.55)")
    found = ExportCheck("npz", 64, NAN, NAN, NAN, 60, False, ("it differs",), first, "validation")
    said = json.loads(
        write_report(model, "npz", found, None).read_text(), parse_constant=pytest.fail
    )
    assert said["same"] is False
    assert said["max_abs"] is None
    assert said["reasons"] == ["it differs"]
    assert said["samples_of"] == "validation"
    assert said["first_difference"] == {"sample": 7, "expected": "3 (0.98)", "found": "8 (0.55)"}


def test_several_outputs_are_written_down_by_name(model: Path) -> None:
    first = Difference(7, "2", "2.5", "size")
    found = ExportCheck("gbi", 64, 0.5, reasons=("it differs",), first=first,
                        by_output={"which": 0.0, "size": 0.5})  # fmt: skip
    said = json.loads(write_report(model, "gbi", found, None).read_text())
    assert said["max_abs_by_output"] == {"which": 0.0, "size": 0.5}
    assert said["first_difference"]["output"] == "size"


def test_what_was_not_compared_is_not_claimed(model: Path) -> None:
    doubt = FormatError("the other process gave no answer", who="export check")
    said = json.loads(write_report(model, "gbi", None, doubt).read_text())
    assert said["same"] is None
    assert said["finding"] == "not compared: the other process gave no answer"
    without = ExportCheck("gbi", 0, reasons=("there are no test samples",))
    said = json.loads(write_report(model, "gbi", without, None).read_text())
    assert said["same"] is None
    assert "max_abs" not in said


def test_an_old_finding_is_forgotten_and_a_missing_file_refused(model: Path) -> None:
    write_report(model, "gbi", None, None)
    forget_report(model)
    forget_report(model)
    assert not report_path(model).exists()
    model.unlink()
    with pytest.raises(FormatError, match="cannot be read back"):
        write_report(model, "gbi", None, None)


def test_what_may_lie_beside_the_files_of_a_folder_is_no_part_of_it(tmp_path: Path) -> None:
    folder = tmp_path / "net.tfjs"
    folder.mkdir()
    (folder / "model.json").write_text("{}")
    write_report(folder, "tfjs", None, None)
    (folder / "tf.min.js").write_text("library")
    assert verify_file(folder).is_unchanged
    (folder / "model.json").write_text("[]")
    assert not verify_file(folder).is_unchanged
    (folder / "model.json").write_text("{}")
    (folder / "other.bin").write_text("more")
    assert not verify_file(folder).is_unchanged
