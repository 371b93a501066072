"""The report of an export check, written beside the file so that it travels along.

``model.gbi`` gets ``model.gbi.proof.json``: the SHA-256 of the file it speaks of, how many stored
samples were compared, how far the answers were apart, and the reasons if the check failed.
"""

from __future__ import annotations

import json
import math
import time
from contextlib import suppress
from pathlib import Path

from studio import __version__
from studio.engine.core.errors import StudioError
from studio.engine.core.options import Plain
from studio.engine.formats.atomic import write_atomic
from studio.engine.train.export.check.check import ExportCheck
from studio.engine.train.export.check.process import file_hash

ENDING = ".proof.json"
FORMAT, VERSION = "glassbox-proof", 1


def report_path(path: Path) -> Path:
    """Where the finding about a file is."""
    return path.with_name(path.name + ENDING)


def forget_report(path: Path) -> None:
    """Delete what was found about an older file of that name: it says nothing about a new one."""
    with suppress(OSError):
        report_path(path).unlink(missing_ok=True)


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
        "sha256": file_hash(path),
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
