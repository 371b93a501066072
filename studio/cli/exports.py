"""What commands say of the files they exported, and the code they end with."""

from __future__ import annotations

from collections.abc import Sequence

from studio.cli import console
from studio.cli.app import CHECK_FAILED, USER_MISTAKE
from studio.engine.train.export.exporting import Export


def say_exports(made: Sequence[Export]) -> None:
    """Print where each file is, what the check found and where the report is."""
    for export in made:
        if export.problem is None:
            console.say(export.sentence)
            for line in () if export.small is None else export.small.lines:
                console.say(line)
            if export.report is not None:
                console.say(f"report: {export.report}")


def complain_of_exports(made: Sequence[Export]) -> int:
    """Name each problem on standard error; the code to end with.

    Returns:
        2 where a file could not be written, else 1 where one is not known to be the same model,
        else 0.
    """
    code = 0
    for export in made:
        if export.unreported is not None:
            console.note(f"note: no report was written: {export.unreported.message}")
        for note in () if export.check is None else export.check.notes:
            console.note(f"note: {note}")
        if export.problem is not None:
            console.complain(str(export.problem))
            code = max(code, CHECK_FAILED if export.error is None else USER_MISTAKE)
    return code


def export_to_json(export: Export) -> dict[str, object]:
    """What was written and found, for programs."""
    found = export.check
    finding = "not verified" if found is None else found.sentence
    small = {} if export.small is None else {"small_weights": export.small.to_json()}
    return {
        "format": export.format,
        "path": str(export.path),
        "written": export.is_placed,
        "same": found.is_same if found is not None and found.is_checked else None,
        "finding": finding if export.error is None else f"not written: {export.error.message}",
        "read_by": None if found is None or not found.is_checked else found.read_by,
        "notes": [] if found is None else list(found.notes),
        "samples": export.rows,
        "difference": export.difference,
        "report": None if export.report is None else str(export.report),
        **small,
    }
