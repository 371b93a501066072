"""What the user wrote about a run, kept in its folder; and what to call the run."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from studio.engine.core.errors import ParameterError, StudioError
from studio.engine.core.options import Plain
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.safe_json import load_json
from studio.engine.train.runs.run_folder import RunFolder

_LOG = logging.getLogger(__name__)

NOTES = "studio.json"
MAX_TITLE = 200
MAX_TEXT = 1 << 16
MAX_TAGS = 32
_LIMITS = Limits(file_bytes=MIB, json_bytes=MIB)
# How the name of a run of a sweep ends.
_TRIAL = re.compile(r"-(\d{4,9})(?:-(\d{1,3}))?\Z")


@dataclass(frozen=True)
class RunNotes:
    """What the studio and its user wrote about a run.

    Attributes:
        title: what the user calls it, empty for its time.
        star: whether it is marked.
        archived: whether it is hidden from the list.
        tags: words to find it by.
        text: the user's own text.
        test: what it reached on the test part, when that was measured.
    """

    title: str = ""
    star: bool = False
    archived: bool = False
    tags: tuple[str, ...] = ()
    text: str = ""
    test: Mapping[str, float] = field(default_factory=dict)

    def checked(self) -> RunNotes:
        """The same, made fit to be written; ParameterError for a text that is too long."""
        title = " ".join(self.title.split())
        if len(title) > MAX_TITLE:
            raise ParameterError(f"a name has at most {MAX_TITLE} characters", who="run")
        if len(self.text) > MAX_TEXT:
            raise ParameterError(f"notes have at most {MAX_TEXT} characters", who="run")
        tags = tuple(dict.fromkeys(tag.strip()[:60] for tag in self.tags if tag.strip()))
        if len(tags) > MAX_TAGS:
            raise ParameterError(f"a run has at most {MAX_TAGS} tags", who="run")
        return replace(self, title=title, tags=tags)

    def to_json(self) -> dict[str, Plain]:
        """Plain data for the file."""
        return {
            "title": self.title,
            "star": self.star,
            "archived": self.archived,
            "tags": list(self.tags),
            "text": self.text,
            "test": {name: v for name, v in self.test.items() if math.isfinite(v)},
        }


def read_notes(folder: RunFolder) -> RunNotes:
    """What was noted about a run; a damaged file counts as none and is logged."""
    path = folder.path / NOTES
    if not path.is_file():
        return RunNotes()
    try:
        found = load_json(path, _LIMITS)
        if not isinstance(found, Mapping):
            raise ParameterError("expected an object", who=str(path))
        tags = found.get("tags")
        return RunNotes(
            text_in(found.get("title")),
            found.get("star") is True,
            found.get("archived") is True,
            tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else (),
            text_in(found.get("text")),
            numbers_in(found.get("test")),
        ).checked()
    except StudioError as error:
        _LOG.warning("the notes of a run are left out: %s", error)
        return RunNotes()


def write_notes(folder: RunFolder, notes: RunNotes) -> None:
    """Keep notes with a run.

    Raises:
        ParameterError: a text is too long.
        FormatError: the file cannot be written.
    """
    folder.write_json(NOTES, notes.checked().to_json())


def forget_test(folder: RunFolder) -> None:
    """A run goes on: what it reached on the test part was reached with other weights."""
    notes = read_notes(folder)
    if notes.test:
        write_notes(folder, replace(notes, test={}))


def title_of(name: str, notes: RunNotes) -> str:
    """What to call a run: what its user calls it, or which trial it is and when it began."""
    started = started_at(name)
    if notes.title or started is None:
        return notes.title or name
    when = started.astimezone().strftime("%d %b %H:%M:%S").lstrip("0")
    trial = _TRIAL.search(name[19:])
    if trial is None:
        return when
    number, seed = trial.groups()
    # First what tells it from the other trials: the rest may be cut.
    return f"Trial {int(number)}{'' if seed is None else f', seed {seed}'}, {when}"


def trial_of(name: str) -> str:
    """What the runs of a trial's seeds have in common; empty for a run that is none of several."""
    found = _TRIAL.search(name[19:])
    if found is None or found.group(2) is None or started_at(name) is None:
        return ""
    return name[: 19 + found.start(2) - 1]


def started_at(name: str) -> datetime | None:
    """When a run began, which its folder's name says; None for another name."""
    try:
        return datetime.strptime(name[:19], "%Y-%m-%d_%H-%M-%S").replace(tzinfo=UTC)
    except ValueError:
        return None


def numbers_in(value: object) -> dict[str, float]:
    """The numbers of an object read from a file; empty where it is none."""
    if not isinstance(value, Mapping):
        return {}
    return {
        str(name): float(number)
        for name, number in value.items()
        if isinstance(number, int | float) and not isinstance(number, bool)
    }


def text_in(value: object) -> str:
    """A text read from a file; empty where it is none."""
    return value if isinstance(value, str) else ""
