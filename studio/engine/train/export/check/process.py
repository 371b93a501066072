"""Loads exported files in a process of its own and answers stored samples with each.

Started as ``python -m studio.engine.train.export.check.process FOLDER``. The folder holds
``request.json``, the raw samples and, for weights, the project or the network they are for.
For each file its answers and ``reply-<n>.json`` are written beside them. Nothing is taken over from
the process that exported: what is not in the file, or in the project it belongs to, is missing.
Where a foreign reader of the format is installed, it reads the file and Glassbox only what the file
says of itself; a model of another tool gets samples that were normalised as its file says.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.compiler.verify import verify
from studio.engine.core.app_dirs import AppDirs
from studio.engine.core.errors import FormatError, StudioError, in_one_line
from studio.engine.core.tensor import Role
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.gbi import load_gbi
from studio.engine.formats.npy import load_npy, save_npy
from studio.engine.formats.npz import load_npz
from studio.engine.formats.safe_json import load_json
from studio.engine.interop.file_format import FileFormat, format_named
from studio.engine.interop.program_names import input_names, output_names
from studio.engine.isa.binary import encode_program
from studio.engine.isa.program import Program
from studio.engine.isa.text import format_program, parse_program
from studio.engine.layers.graph import LayerGraph, Port
from studio.engine.layers.graph_json import graph_from_json
from studio.engine.plugins.loading import load_plugins
from studio.engine.train.devices import open_backend
from studio.engine.train.export.check.foreign_readers import (
    ForeignReader,
    ModelReader,
    WeightsReader,
    readers_of,
)
from studio.engine.train.export.check.pictures import save_stated
from studio.engine.train.export.preprocessing import NORMALIZATION, normalized
from studio.engine.train.network.execute import run_program

if TYPE_CHECKING:
    from studio.engine.train.project.task import Task

REQUEST = "request.json"
PROGRAM_WEIGHTS = "weights.npz"
"""Weights for a program whose file has none."""
PROJECT = "project.json"
GRAPH, NETWORK = "graph.json", "network.gbi"
"""The network and its inference program, where there is no project."""
_PIECE = 1 << 20

Array: TypeAlias = npt.NDArray[np.generic]
Reply: TypeAlias = dict[str, object]


def rows_name(index: int) -> str:
    """Name of the file with the raw samples of one input."""
    return f"rows-{index}.npy"


def reply_name(file: int) -> str:
    """Name of the file that says how loading one of the exported files went."""
    return f"reply-{file}.json"


def reader_name(file: int) -> str:
    """Name of the file that says which foreign reader was started for an exported file."""
    return f"reader-{file}.json"


def answers_name(file: int, output: int) -> str:
    """Name of the file with the answers of one output."""
    return f"answers-{file}-{output}.npy"


def program_hash(program: Program) -> str:
    """SHA-256 of a program in its binary form."""
    return sha256(encode_program(program)).hexdigest()


def stored_bytes(path: Path) -> int:
    """Length of a file, or of all files in a folder."""
    files = path.iterdir() if path.is_dir() else (path,)
    return sum(each.stat().st_size for each in files)


def file_hash(path: Path, keeps: Sequence[str] = ()) -> str:
    """SHA-256 of a file; FormatError where it cannot be read.

    Of a folder that of its files' hashes and names in order, as ``sha256sum *`` prints them. Files
    that only lie beside them are left out: ``keeps`` has patterns of their names.
    """
    made = sha256()
    if path.is_dir():
        for each in sorted(path.iterdir(), key=lambda file: file.name):
            if any(fnmatchcase(each.name, pattern) for pattern in keeps):
                continue
            made.update(f"{file_hash(each)}  {each.name}\n".encode())
        return made.hexdigest()
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                made.update(piece)
    except OSError as error:
        raise FormatError(f"cannot be read back: {error.strerror}", who=str(path)) from error
    return made.hexdigest()


@dataclass(frozen=True)
class _Network:
    """What files of weights are for, as a project says it or as it was handed over.

    Attributes:
        folder: of the request.
        base: where relative paths of the project's data start; None without a project.
    """

    folder: Path
    base: Path | None

    @cached_property
    def task(self) -> Task | None:
        """The project, opened again with its data; None without one."""
        if self.base is None:
            return None
        # Programs are checked sooner without what reads projects and data.
        from studio.engine.train.project.project import Project
        from studio.engine.train.project.task import Task

        project = Project.load(self.folder / PROJECT)
        project.path = self.base / PROJECT
        return Task.of_project(project)

    @cached_property
    def graph(self) -> LayerGraph:
        """The layers."""
        if self.task is not None:
            return self.task.graph
        return graph_from_json(load_json(self.folder / GRAPH))

    @cached_property
    def program(self) -> Program:
        """The inference program with its weights left open."""
        if self.task is not None:
            from studio.engine.train.network.programs import Programs

            return Programs(self.task).program("infer")
        return load_gbi(self.folder / NETWORK).program

    def check_fit(self, weights: Mapping[str, Array], who: str) -> None:
        """CheckpointError naming the first weight that is missing or of another shape."""
        from studio.engine.train.network.network import check_fit

        check_fit(self.program.of_role(Role.PARAM, Role.STATE), weights, who)


@dataclass(frozen=True)
class _Read:
    """A file as Glassbox reads it, ready to be computed with.

    Attributes:
        rows: samples as its model takes them.
        facts: what the file says of data, normalisation and classes.
        program: what computes; None where only others read the format.
        weights: of that program.
        reply: what else is compared.
    """

    rows: list[Array]
    facts: Mapping[str, str]
    program: Program | None = None
    weights: Mapping[str, Array] = field(default_factory=dict)
    reply: Reply = field(default_factory=dict)


class _Answering:
    """Answers the request in a folder, file by file.

    Args:
        folder: where the request is.
        request: what is asked.
    """

    def __init__(self, folder: Path, request: Mapping[str, object]) -> None:
        base = request.get("project_folder")
        self._folder = folder
        self._network = _Network(folder, None if base is None else Path(str(base)))
        names = request.get("inputs")
        self._names = [str(name) for name in (names if isinstance(names, list) else ())]
        self._rows = [load_npy(folder / rows_name(index)) for index in range(len(self._names))]
        self._pictures = request.get("pictures")
        files, without = request.get("files"), request.get("without")
        self._files = files if isinstance(files, list) else []
        self._without = without if isinstance(without, list) else []

    def run(self) -> bool:
        """Answer for each file without a reply; whether every one was loaded."""
        whole = True
        for index, asked in enumerate(self._files):
            if (self._folder / reply_name(index)).exists():
                continue
            form, path = asked if isinstance(asked, list) and len(asked) == 2 else ("", "")
            try:
                answers, reply = self._answer(index, str(form), Path(str(path)))
                for output, values in enumerate(answers):
                    save_npy(self._folder / answers_name(index, output), values)
                reply["outputs"] = len(answers)
            except StudioError as error:
                reply, whole = {"error": error.message}, False
            except Exception as error:
                reply, whole = {"error": in_one_line(error)}, False
            write_atomic(self._folder / reply_name(index), json.dumps(reply).encode("utf-8"))
        return whole

    def _answer(self, index: int, form: str, path: Path) -> tuple[list[Array], Reply]:
        """What a file answers to the samples, and what it says of itself.

        Raises:
            StudioError: it does not load, or does not fit.
        """
        chosen, digest = format_named(form), file_hash(path)
        notes: list[str] = []
        reader, name = self._started(index, form, notes)
        read = self._read(chosen, path, reader)
        try:
            answers = self._computed(index, chosen, path, read, reader)
        except Exception as error:
            if reader is None:
                raise
            raise FormatError(f"{name} says: {in_one_line(error)}", who=path.name) from error
        resize = read.facts.get("resize")
        save_stated(self._folder, index, resize, self._names, self._pictures)
        reply: Reply = {
            "sha256": digest,
            "reader": name,
            "notes": notes,
            "class_names": _names(read.facts.get("class_names")),
            "output_class_names": read.facts.get("output_class_names"),
            "normalization": read.facts.get("normalization"),
            "input_normalization": read.facts.get(NORMALIZATION),
            "resize": resize,
            "data_hash": read.facts.get("data_sha256"),
        }
        if chosen.holds in ("weights", "checkpoint"):
            reply |= _stated_by_project(self._network.task, reply)
        return answers, reply | read.reply

    def _started(self, index: int, form: str, notes: list[str]) -> tuple[ForeignReader | None, str]:
        """A foreign reader of the format that works, and its name; None where there is none."""
        for reader in readers_of(form):
            if reader.title in self._without or not reader.is_installed:
                continue
            # Should it end this process, the next one knows which it was.
            write_atomic(self._folder / reader_name(index), json.dumps(reader.title).encode())
            try:
                return reader, reader.start()
            except Exception as error:
                notes.append(f"{reader.title} is installed but does not start: "
                             f"{in_one_line(error)}")  # fmt: skip
        return None, ""

    def _read(self, form: FileFormat, path: Path, reader: ForeignReader | None) -> _Read:
        """The file as Glassbox reads it; of a format that only others read, what these say."""
        if form.can_open:
            return _read_model(form, path, self._rows)
        if not form.can_read:
            facts = reader.facts(path) if isinstance(reader, ModelReader) else {}
            return _Read(self._rows, facts)
        network = self._network
        found = form.read(path, None if form.holds == "program" else network.graph)
        if found.program is None:
            network.check_fit(found.weights, path.name)
            return _Read(self._rows, found.facts, network.program, found.weights)
        handed = network.folder / PROGRAM_WEIGHTS
        weights = found.weights if form.has_weights else load_npz(handed)
        reply = _checked_program(found.program, path.name)
        return _Read(self._rows, found.facts, found.program, weights, reply)

    def _computed(
        self, index: int, form: FileFormat, path: Path, read: _Read, reader: ForeignReader | None
    ) -> list[Array]:
        """Every output for the samples."""
        if isinstance(reader, ModelReader):
            return reader.answers(path, read.rows)
        if read.program is None:
            raise FormatError("no program that reads this format is installed", who=path.name)
        weights, network = read.weights, self._network
        if isinstance(reader, WeightsReader):
            weights = form.weights_of(reader.arrays(path), network.graph, path.name)
            network.check_fit(weights, path.name)
            (self._folder / reader_name(index)).unlink()
        with open_backend("cpu", compiled=False) as opened:
            answers = run_program(opened.backend, read.program, weights, read.rows)
        return [np.asarray(a) for a in answers]


def _read_model(form: FileFormat, path: Path, rows: list[Array]) -> _Read:
    """A network with its weights, which the file alone says how to feed."""
    from studio.engine.train.network.programs import Programs
    from studio.engine.train.project.project import Project
    from studio.engine.train.project.task import Task

    model = form.read_model(path)
    inputs = model.graph.inputs
    if len(inputs) != len(rows):
        raise FormatError(f"it has {len(inputs)} inputs, expected {len(rows)}", who=path.name)
    task = Task.of_project(Project.new(model.name, model.graph))
    # Inputs of any length have that of the samples.
    task = task.for_lengths(task.lengths_of([values.shape[1:] for values in rows]))
    graph = task.graph
    types = graph.types()
    names = [node.layer.name for node in inputs]
    dtypes = [np.dtype(types[Port(node.id)].dtype.np) for node in graph.inputs]
    program = Programs(task).program("infer")
    reply: Reply = {"input_names": names} if len(names) > 1 else {}
    if len(graph.outputs) > 1:
        reply["output_names"] = list(graph.output_names())
    given = normalized(model.facts, names, rows, dtypes)
    return _Read(given, model.facts, program, model.weights, reply)


def answer_all(folder: Path) -> bool:
    """Do what the request in a folder asks; whether every file was loaded."""
    request = load_json(folder / REQUEST)
    if not isinstance(request, Mapping):
        raise FormatError("expected an object", who=REQUEST)
    _find_formats(request.get("modules"), request.get("path"))
    return _Answering(folder, request).run()


def _checked_program(program: Program, name: str) -> Reply:
    verify(program, after=f"reading {name}")
    again = parse_program(format_program(program), name)
    made: Reply = {"program": program_hash(program), "assembled": program_hash(again)}
    # Programs name a single input or output as they like.
    if len(program.inputs) > 1:
        made["input_names"] = list(input_names(program))
    if len(program.outputs) > 1:
        made["output_names"] = list(output_names(program))
    return made


def _stated_by_project(task: Task | None, reply: Reply) -> Reply:
    """What the project says where the file of weights is silent."""
    if task is None:
        return {}
    names = list(task.class_names)
    stated: Reply = {
        "class_names": names,
        "output_class_names": task.facts.get("output_class_names"),
        "normalization": task.facts.get("normalization"),
        "data_hash": task.data_hash,
    }
    silent = {key: value for key, value in stated.items() if reply[key] is None}
    return {**silent, "project_class_names": names}


def _find_formats(modules: object, path: object) -> None:
    """Import what defines the formats: one that is not part of Glassbox may lie anywhere."""
    sys.path += [str(p) for p in (path if isinstance(path, list) else ()) if p not in sys.path]
    for name in modules if isinstance(modules, list) else ():
        importlib.import_module(str(name))


def _names(text: str | None) -> list[str] | None:
    if text is None:
        return None
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    return [str(name) for name in found] if isinstance(found, list) else [text]


def main(arguments: list[str]) -> int:
    """Answer the request in a folder; 0 when all files were loaded, 1 when one was refused.

    Begins at the end of standard input: what the folder holds is written while this starts.
    """
    load_plugins(AppDirs.of_user().config)
    sys.stdin.read()
    return 0 if answer_all(Path(arguments[0])) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
