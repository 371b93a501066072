"""The report of an export check, written beside the file so that it travels along.

``model.gbi`` gets ``model.gbi.proof.json``: the SHA-256 of the file it speaks of, how many stored
samples were compared and their SHA-256, what is done to a raw sample, what read the file, how far
the answers were apart, and the reasons if the check failed. Whoever gets both finds out with
`verify_file` whether the file is the one that was checked.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from studio import __version__
from studio.engine.core.errors import FormatError, StudioError
from studio.engine.core.options import Plain
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.safe_json import load_json
from studio.engine.interop.file_format import file_formats
from studio.engine.train.export.check.check import ExportCheck
from studio.engine.train.export.check.process import file_hash

ENDING = ".proof.json"
FORMAT, VERSION = "glassbox-proof", 1
_LIMITS = Limits(file_bytes=16 * MIB, json_bytes=16 * MIB, json_depth=8, json_values=1_000_000)


@dataclass(frozen=True)
class Verified:
    """A file and its report.

    Attributes:
        path: the file.
        sha256: what its hash is.
        expected: what the report says it is.
        finding: what the check found, in a sentence.
        same: whether it was found to be the same model; None where it could not be compared.
        read_by: what read the file in the check; empty where nothing did.
        made: when that was, in UTC.
    """

    path: Path
    sha256: str
    expected: str
    finding: str
    same: bool | None
    read_by: str
    made: str

    @property
    def is_unchanged(self) -> bool:
        """Whether the file is the one that was checked."""
        return self.sha256 == self.expected

    @property
    def problem(self) -> FormatError | None:
        """Why the file is not known to be the model that was exported; None where it is."""
        if not self.is_unchanged:
            return FormatError(
                f"this is not the file that was verified: its SHA-256 is {self.sha256}, expected "
                f"{self.expected}",
                who=str(self.path),
                hint="it was damaged, replaced or edited; get it again or export it again",
            )
        return None if self.same else FormatError(self.finding, who=str(self.path))


def report_path(path: Path) -> Path:
    """Where the finding about a file is."""
    return path.with_name(path.name + ENDING)


def forget_report(path: Path) -> None:
    """Delete what was found about an older file of that name: it says nothing about a new one."""
    with suppress(OSError):
        report_path(path).unlink(missing_ok=True)


def _keeps(form: object) -> tuple[str, ...]:
    """What may lie beside the files of a format, by its name; nothing for one that is not here."""
    return next((each.keeps for each in file_formats() if each.name == form), ())


def verify_file(path: Path) -> Verified:
    """Compare a file with the report beside it.

    Raises:
        FormatError: there is no file or no report, or the report is damaged.
    """
    report = report_path(path)
    if not path.exists():
        raise FormatError("cannot be read back: no such file", who=str(path))
    if not report.exists():
        raise FormatError(
            f"there is no report: expected {report.name} next to the file", who=str(path),
            hint="exports write it; copy it with the file",
        )  # fmt: skip
    said = load_json(report, _LIMITS)
    if not isinstance(said, Mapping) or said.get("format") != FORMAT:
        raise FormatError("this is no report of an export", who=str(report))
    if said.get("version") != VERSION:
        raise FormatError(
            f"expected version {VERSION} of a report, got {said.get('version')!r}"[:120],
            who=str(report), hint="a newer Glassbox may have written it",
        )  # fmt: skip
    digest = file_hash(path, _keeps(said.get("form")))
    texts = {key: said.get(key, "") for key in ("sha256", "finding", "read_by", "made")}
    same = said.get("same")
    wrong = [key for key, value in texts.items() if not isinstance(value, str)]
    wrong += [] if same is None or isinstance(same, bool) else ["same"]
    if wrong or not texts["sha256"]:
        raise FormatError(
            f"the report is damaged: {(wrong or ['sha256'])[0]} has another form", who=str(report)
        )
    return Verified(
        path, digest, str(texts["sha256"]), str(texts["finding"]),
        same if isinstance(same, bool) else None, str(texts["read_by"]),
        str(texts["made"]),
    )  # fmt: skip


def write_report(
    path: Path,
    form: str,
    found: ExportCheck | None,
    doubt: StudioError | None,
    small_weights: Plain = None,
) -> Path:
    """Write the finding about an exported file; where it is.

    Args:
        path: the exported file.
        form: its format.
        found: what comparing it found; None where it could not be compared.
        doubt: why it could not.
        small_weights: what small weights change, as plain data; None where there are none.

    Raises:
        FormatError: the file cannot be read, or the finding not be written.
    """
    content: dict[str, Plain] = {
        "format": FORMAT,
        "version": VERSION,
        "file": path.name,
        "form": form,
        "sha256": file_hash(path, _keeps(form)),
        "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "glassbox": __version__,
        **_said(found, doubt),
    }
    if small_weights is not None:
        content["small_weights"] = small_weights
    target = report_path(path)
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    write_atomic(target, f"{text}\n".encode())
    return target


def _said(found: ExportCheck | None, doubt: StudioError | None) -> dict[str, Plain]:
    if found is None:
        why = "" if doubt is None else f": {doubt.message}"
        return {"finding": f"not compared{why}", "same": None, "samples": 0}
    said: dict[str, Plain] = {
        "finding": found.sentence,
        "same": found.is_same if found.is_checked else None,
        "samples": found.samples,
    }
    if not found.is_checked:
        return said
    said |= {
        "max_abs": _number(found.max_abs),
        "max_relative": _number(found.max_relative),
        "samples_of": found.part or "made up",
        "samples_sha256": found.samples_hash,
        "read_by": found.read_by,
        "notes": list(found.notes),
        "preprocessing": dict(found.preprocessing),
        "same_class": found.same_top,
        "same_bytes_again": found.same_bytes,
        "reasons": list(found.reasons),
    }
    if found.by_output:
        said["max_abs_by_output"] = {name: _number(gap) for name, gap in found.by_output.items()}
    if found.first is not None:
        first = found.first
        said["first_difference"] = {
            "sample": first.sample, "expected": first.expected, "found": first.found,
            **({"output": first.output} if first.output else {}),
        }  # fmt: skip
    return said


def _number(value: float) -> float | None:
    """A number as JSON has it, which knows no NaN."""
    return value if math.isfinite(value) else None
