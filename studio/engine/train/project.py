"""The project file ``.glassbox``: network, layout, data reference, training settings and notes.

One JSON document, written atomically with sorted keys so that versions compare line by line. It
holds plain data only, never code; everything in it is checked against a type and a range.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from studio.engine.core.errors import FormatError, StudioError
from studio.engine.core.options import Plain
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.byte_source import FileOrBytes
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.safe_json import load_json
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.graph_json import graph_from_json, graph_to_json
from studio.engine.train.data_settings import DataSettings
from studio.engine.train.project_text import project_text
from studio.engine.train.settings import TrainingSettings

FORMAT = "glassbox-project"
VERSION = 1
SUFFIX = ".glassbox"
FIELDS = ("format", "version", "name", "data", "graph", "training", "layout", "notes")
LIMITS = Limits(file_bytes=16 * MIB, json_bytes=16 * MIB, json_depth=24, json_values=500_000)

MAX_NAME = 200
MAX_NOTES = 1 << 20
MAX_COORDINATE = 1e7

Layout = dict[str, tuple[float, float]]
T = TypeVar("T")


@dataclass
class Project:
    """One project.

    Attributes:
        name: what to call it.
        graph: the network.
        data: the data, or None for a network without (as saved from Python arrays).
        training: how it is trained.
        layout: place of nodes on the canvas by node id; ids of nodes that are gone are kept.
        notes: the user's own text.
        path: the file it was read from or written to last, if any.
    """

    name: str
    graph: LayerGraph
    data: DataSettings | None = None
    training: TrainingSettings = field(default_factory=TrainingSettings)
    layout: Layout = field(default_factory=dict)
    notes: str = ""
    path: Path | None = None

    @classmethod
    def new(
        cls,
        name: str,
        graph: LayerGraph,
        data: Mapping[str, object] | None = None,
        training: Mapping[str, object] | None = None,
    ) -> Project:
        """A project from a graph and the plain data of its sections."""
        found = None if data is None else DataSettings.from_json(data)
        return cls(_name(name), graph, found, TrainingSettings(**(training or {})))

    @classmethod
    def load(cls, source: FileOrBytes) -> Project:
        """Read a project.

        Raises:
            FormatError: unreadable, damaged, of another kind, or written by a newer version.
            StudioError: a wrong value, with file and section as origin.
        """
        who = "project data" if isinstance(source, bytes) else str(source)
        project = cls.from_json(load_json(source, LIMITS), who)
        project.path = None if isinstance(source, bytes) else Path(source)
        return project

    @classmethod
    def from_json(cls, document: object, who: str = "project") -> Project:
        """The project a document describes; ``who`` names it in errors."""
        fields = _checked(document, who)
        graph = _section(who, "graph", lambda: graph_from_json(fields.get("graph")))
        data = fields.get("data")
        found = (
            None
            if data is None
            else _section(who, "data", lambda: DataSettings.from_json(_mapping(data, "data")))
        )
        given = fields.get("training", {})
        training = _section(
            who, "training", lambda: TrainingSettings.from_config(_mapping(given, "training"))
        )
        layout = _section(who, "layout", lambda: _layout(fields.get("layout", {})))
        notes = fields.get("notes", "")
        if not isinstance(notes, str) or len(notes) > MAX_NOTES:
            raise FormatError(f"notes: expected at most {MAX_NOTES} characters of text", who=who)
        name = _section(who, "name", lambda: _name(fields.get("name")))
        return cls(name, graph, found, training, layout, notes)

    def to_json(self) -> dict[str, Plain]:
        """The whole document as plain data."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "name": self.name,
            "graph": graph_to_json(self.graph),
            "data": None if self.data is None else self.data.to_json(),
            "training": self.training.plain(),
            "layout": {node: [x, y] for node, (x, y) in self.layout.items()},
            "notes": self.notes,
        }

    def text(self) -> str:
        """What `save` writes."""
        return project_text(self.to_json(), first=FIELDS)

    def save(self, path: Path | str | None = None) -> Path:
        """Write the file in one atomic step, to where it came from unless told; FormatError."""
        target = Path(path) if path is not None else self.path
        if target is None:
            raise FormatError("no file name was given", who=self.name)
        write_atomic(target, self.text().encode("utf-8"))
        self.path = target
        return target

    @property
    def folder(self) -> Path:
        """The folder that relative data paths start from."""
        return self.path.resolve().parent if self.path is not None else Path.cwd()

    @property
    def runs_path(self) -> Path:
        """The folder of its runs, ``<name>.runs`` beside the file."""
        if self.path is None:
            raise FormatError("runs are kept beside the project: save it first", who=self.name)
        return self.path.with_suffix(".runs")

    def with_training(self, **changes: object) -> Project:
        """A copy with some training settings changed; those given as None stay."""
        given = {name: value for name, value in changes.items() if value is not None}
        return replace(self, training=self.training.replace(**given))


def _checked(document: object, who: str) -> Mapping[str, object]:
    """The document's fields, when it is a project of a version that can be read."""
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise FormatError(f'not a Glassbox project: expected "format": "{FORMAT}"', who=who)
    version = document.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise FormatError("version: expected a whole number from 1 up", who=who)
    if version > VERSION:
        raise FormatError(
            f"the project was written by version {version} of the format, this reads up to "
            f"{VERSION}",
            who=who,
            hint="update Glassbox",
        )
    unknown = sorted(str(key) for key in document if key not in FIELDS)
    if unknown:
        raise FormatError(
            f"unknown field {unknown[0][:60]!r}", who=who, hint=f"known: {', '.join(FIELDS)}"
        )
    return document


def _section(who: str, name: str, read: Callable[[], T]) -> T:
    """What ``read`` gives; its errors say which file and section they are about."""
    try:
        return read()
    except StudioError as error:
        place = f"{who}: {name}"
        error.origin = f"{place}, {error.origin}" if error.origin else place
        raise


def _mapping(value: object, name: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise FormatError(f"expected an object, got {str(value)[:60]!r}", who=name)
    return value


def _name(value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= MAX_NAME or not value.isprintable():
        raise FormatError(f"expected a name of 1 to {MAX_NAME} characters", who="name")
    return value


def _layout(value: object) -> Layout:
    found: Layout = {}
    for node, place in _mapping(value, "layout").items():
        numbers = place if isinstance(place, list | tuple) and len(place) == 2 else ()
        if len(numbers) != 2 or not all(
            isinstance(v, int | float) and not isinstance(v, bool) and abs(v) <= MAX_COORDINATE
            for v in numbers
        ):
            raise FormatError(f"expected two numbers for {node[:60]!r}", who="layout")
        found[node] = (numbers[0], numbers[1])
    return found
