"""The report of an import, kept in the run that holds the weights."""

from __future__ import annotations

from collections.abc import Mapping

from studio.engine.core.errors import FormatError, cleaned
from studio.engine.core.options import Plain
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.safe_json import load_json
from studio.engine.interop.imported import ImportedLayer, ImportReport
from studio.engine.train.runs.run_folder import RunFolder

FILE = "report.json"
_FORMAT = "glassbox-import"
_LIMITS = Limits(file_bytes=64 * MIB, json_bytes=64 * MIB)
_MOST = 400
"""Characters of one text that are shown."""


def save_report(run: RunFolder, report: ImportReport) -> None:
    """Write the report into the run's folder; FormatError where that fails."""
    run.write_json(FILE, {"report": _FORMAT, "version": 1, **report.to_json()})


def saved_report(run: RunFolder) -> ImportReport | None:
    """The report of a run that was imported; None for any other.

    Raises:
        FormatError: the file is damaged.
    """
    path = run.path / FILE
    if not path.is_file():
        return None
    found = load_json(path, _LIMITS)
    if not isinstance(found, Mapping) or found.get("report") != _FORMAT:
        raise FormatError("not the report of an import", who=str(path))
    return ImportReport(
        _text(found.get("source")),
        _text(found.get("format")),
        tuple(_layer(each) for each in _list(found.get("layers"))),
        tuple(map(_text, _list(found.get("left_out")))),
        tuple(map(_text, _list(found.get("remarks")))),
    )


def _layer(value: object) -> ImportedLayer:
    fields: Mapping[object, object] = value if isinstance(value, Mapping) else {}
    return ImportedLayer(*(_text(fields.get(key)) for key in ("name", "class", "layer", "note")))


def _list(value: Plain) -> list[Plain]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    return cleaned(value)[:_MOST] if isinstance(value, str) else ""
