"""The finding beside an exported file: what it says, and that it speaks of that very file."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from studio.engine.core.errors import FormatError
from studio.ui.models.certificate import Certificate
from studio.ui.models.certificate_answers import Difference
from studio.ui.models.certificate_file import forget_proof, proof_path, write_proof


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.gbi"
    path.write_bytes(b"weights" * 300_000)
    return path


def test_it_names_the_file_by_its_hash_and_says_how_far_answers_are_apart(model: Path) -> None:
    found = Certificate("gbi", 64, 3e-7, 2e-6, 64, same_bytes=True, seconds=1.0)
    written = write_proof(model, "gbi", found, None)
    assert written == model.parent / "model.gbi.proof.json" == proof_path(model)
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
    found = Certificate("npz", 64, float("nan"), float("nan"), 60, False, ("it differs",), first)
    said = json.loads(
        write_proof(model, "npz", found, None).read_text(), parse_constant=pytest.fail
    )
    assert said["same"] is False
    assert said["max_abs"] is None
    assert said["reasons"] == ["it differs"]
    assert said["first_difference"] == {"sample": 7, "expected": "3 (0.98)", "found": "8 (0.55)"}


def test_what_was_not_compared_is_not_claimed(model: Path) -> None:
    doubt = FormatError("the other process gave no answer", who="certificate")
    said = json.loads(write_proof(model, "gbi", None, doubt).read_text())
    assert said["same"] is None
    assert said["finding"] == "not compared: the other process gave no answer"
    without = Certificate("gbi", 0, reasons=("there are no test samples",))
    said = json.loads(write_proof(model, "gbi", without, None).read_text())
    assert said["same"] is None
    assert "max_abs" not in said


def test_an_old_finding_is_forgotten_and_a_missing_file_refused(model: Path) -> None:
    write_proof(model, "gbi", None, None)
    forget_proof(model)
    forget_proof(model)
    assert not proof_path(model).exists()
    model.unlink()
    with pytest.raises(FormatError, match="cannot be read back"):
        write_proof(model, "gbi", None, None)
