"""The project file ``.glassbox``: network, layout, data reference, training settings and notes.

One JSON document, written atomically with sorted keys so that versions compare line by line. It
holds plain data only, never code; everything in it is checked against a type and a range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import TypeVar

from studio.engine.core.errors import FormatError, StudioError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.core.options import Plain
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.byte_source import FileOrBytes
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.safe_json import load_json
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.graph_json import graph_from_json, graph_to_json
from studio.engine.train.project.annotations import (
    NO_ANNOTATIONS,
    Annotations,
    annotations_from_json,
)
from studio.engine.train.project.blocks import Block, blocks_from_json, blocks_to_json
from studio.engine.train.project.data_settings import DataSettings
from studio.engine.train.project.plugin_use import Drawn, plugins_used, prepare_stand_ins
from studio.engine.train.project.project_text import project_text
from studio.engine.train.project.sample_facts import (
    NOTHING_STATED,
    SampleFacts,
    sample_facts_from_json,
)
from studio.engine.train.settings import TrainingSettings

FORMAT = "glassbox-project"
VERSION = 4
"""The newest version; a file is written in the lowest that can say it (`Project.version`)."""
SUFFIX = ".glassbox"
FIELDS = (
    "format", "version", "name", "data", "graph", "training", "layout", "canvas", "notes",
    "annotations", "blocks", "plugins", "samples",
)  # fmt: skip
LIMITS = Limits(file_bytes=16 * MIB, json_bytes=16 * MIB, json_depth=24, json_values=500_000)

MAX_NAME = 200
MAX_NOTES = 1 << 20
MAX_COORDINATE = 1e7
MAX_CANVAS_VALUES = 200_000
MAX_CANVAS_CHARACTERS = 4 * MIB
MAX_CANVAS_DEPTH = 12

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
        canvas: how it is drawn beyond that, for an editor alone; kept as it is, None for nothing.
        notes: the user's own text.
        path: the file it was read from or written to last, if any.
        annotations: names and comments the user gave the listing of its program.
        blocks: layers that are drawn as one, by path.
        samples: what the file it was imported from says of samples; counts while there is no data.
    """

    name: str
    graph: LayerGraph
    data: DataSettings | None = None
    training: TrainingSettings = field(default_factory=TrainingSettings)
    layout: Layout = field(default_factory=dict)
    notes: str = ""
    path: Path | None = None
    canvas: Mapping[str, Plain] | None = None
    annotations: Annotations = NO_ANNOTATIONS
    blocks: Mapping[str, Block] = field(default_factory=dict)
    samples: SampleFacts = NOTHING_STATED

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
        _section(who, "plugins", lambda: prepare_stand_ins(fields.get("plugins", {})))
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
        canvas = _section(who, "canvas", lambda: _canvas(fields.get("canvas")))
        said = _section(
            who, "annotations", lambda: annotations_from_json(fields.get("annotations", {}))
        )
        blocks = _section(who, "blocks", lambda: blocks_from_json(fields.get("blocks", {}), graph))
        known = _section(who, "samples", lambda: sample_facts_from_json(fields.get("samples", {})))
        return cls(
            name, graph, found, training, layout, notes,
            canvas=canvas, annotations=said, blocks=blocks, samples=known,
        )  # fmt: skip

    def to_json(self) -> dict[str, Plain]:
        """The whole document as plain data."""
        made: dict[str, Plain] = {
            "format": FORMAT,
            "version": self.version,
            "name": self.name,
            "graph": graph_to_json(self.graph),
            "data": None if self.data is None else self.data.to_json(),
            "training": self.training.plain(),
            "layout": {node: [x, y] for node, (x, y) in self.layout.items()},
            "notes": self.notes,
        }
        if self.canvas is not None:
            made["canvas"] = _canvas(self.canvas)
        if self.annotations.to_json():
            made["annotations"] = self.annotations.to_json()
        if self.blocks:
            made["blocks"] = blocks_to_json(self.blocks)
        if self.samples.to_json():
            made["samples"] = self.samples.to_json()
        uses = plugins_used(self.graph, self.training, _drawn(self.canvas))
        if uses:
            made["plugins"] = {use.plugin.name: use.to_json() for use in uses}
        return made

    @property
    def version(self) -> int:
        """The lowest version of the format that can say this project."""
        is_cleaned = self.data is not None and self.data.is_cleaned
        if self.samples.has_columns or is_cleaned or self.graph.synchronized_nodes:
            return 4
        is_imported = self.training.begin_with != "fresh" or bool(self.samples.to_json())
        if self.graph.has_unknown_lengths or is_imported:
            return 3
        by_name = self.data is not None and self.data.is_by_name
        weighted = bool(self.training.weighted_metrics)
        return 2 if by_name or self.training.is_by_output or weighted or self.blocks else 1

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
            raise FormatError(
                "runs are saved in the project's folder: save the project first", who=self.name
            )
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
            f"unknown field {quoted(unknown[0])}",
            who=who,
            hint=did_you_mean(unknown[0], FIELDS, f"known: {', '.join(FIELDS)}"),
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
        raise FormatError(f"expected an object, got {quoted(value)}", who=name)
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
            raise FormatError(f"expected two numbers for {quoted(node)}", who="layout")
        found[node] = (numbers[0], numbers[1])
    return found


def _canvas(value: object) -> dict[str, Plain] | None:
    """The drawing as plain data of its own, bounded in size; what it means is not looked at."""
    if value is None:
        return None
    room = _Room(MAX_CANVAS_VALUES, MAX_CANVAS_CHARACTERS)
    made = room.plain(_mapping(value, "canvas"), MAX_CANVAS_DEPTH)
    return made if isinstance(made, dict) else None


@dataclass
class _Room:
    """How much more a section may hold."""

    values: int
    characters: int

    def plain(self, value: object, depth: int) -> Plain:
        """A copy of plain data; FormatError for anything else, or too much of it."""
        text = value if isinstance(value, str) else ""
        self.values -= 1
        self.characters -= len(text)
        if self.values < 0 or self.characters < 0 or depth < 0:
            raise FormatError(
                f"expected at most {MAX_CANVAS_VALUES} values, {MAX_CANVAS_CHARACTERS} characters "
                f"and {MAX_CANVAS_DEPTH} levels",
                who="canvas",
            )
        if isinstance(value, Mapping):
            return {self._key(key): self.plain(each, depth - 1) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.plain(each, depth - 1) for each in value]
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float) and isfinite(value):
            return value
        raise FormatError(f"expected plain values, got {quoted(value)}", who="canvas")

    def _key(self, key: object) -> str:
        if not isinstance(key, str):
            raise FormatError(f"expected text as key, got {quoted(key)}", who="canvas")
        self.characters -= len(key)
        return key


def _drawn(canvas: Mapping[str, object] | None) -> Iterator[Drawn]:
    """The layers in a drawing, among them those that lead to no output."""
    nodes = (canvas or {}).get("nodes")
    entries = nodes if isinstance(nodes, list | tuple) else ()
    for each in entries:
        if isinstance(each, Mapping) and "type" in each:
            config = each.get("config")
            yield str(each["type"]), config if isinstance(config, Mapping) else {}
