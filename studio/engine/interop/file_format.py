"""The base of all file formats, and the list of those there are.

A format is one subclass of `FileFormat` in one module of this package. Commands, the export and
import dialogs, files dropped on the window, search words and the tables of the docs follow from it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import ClassVar, Literal, Protocol, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from studio.engine.compiler.lower import Objective
from studio.engine.core.discovery import added, import_modules
from studio.engine.core.errors import (
    DataError,
    FormatError,
    ParameterError,
    StudioError,
    in_one_line,
    quoted,
)
from studio.engine.core.near_names import did_you_mean
from studio.engine.core.progress import Progress
from studio.engine.formats.atomic import StagedFile, StagedFolder
from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.interop.imported import ImportedModel
from studio.engine.interop.small_weights import (
    Floats,
    SmallWeight,
    WeightForm,
    narrow,
    public_small,
)
from studio.engine.isa.program import Program
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.named_parameters import public_weights, stored_weights
from studio.engine.optim.optimizers import Optimizer

Array: TypeAlias = npt.NDArray[np.generic]
Holds: TypeAlias = Literal["program", "weights", "checkpoint", "model"]
HEAD = 4096
"""Bytes of a file's beginning by which `FileFormat.sniff` tells what it is."""
_LOG = logging.getLogger(__name__)
_COMMON = ("Checkpoint", "Instruction", "Model", "Weights")
"""First words of titles that are no names."""
_NAME = re.compile(r"[a-z][a-z0-9_-]*")


class FileForm(Protocol):
    """What can be written to a file: a `FileFormat`, or a picture in the window."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def ending(self) -> str: ...


F = TypeVar("F", bound=FileForm)


@dataclass(frozen=True)
class ExportedTraining:
    """How a network is trained.

    Attributes:
        optimizer: updates its weights.
        objective: what its outputs are compared by.
    """

    optimizer: Optimizer
    objective: Objective


@dataclass
class Exportable:
    """A trained network as formats write it.

    Attributes:
        name: of the project.
        graph: the network.
        stored: parameters and running statistics by tensor name, as stored.
        facts: what is known of data, normalisation and classes, as text.
        checkpoint: the state of the training, where it is known.
        make_program: makes the inference program and its weights by tensor name.
        weights: the form in which the file is to hold kernels.
        small: kernels in that form by tensor name, as stored; empty for float32. ``stored`` has
            what they are widened to, so that it is what readers of the file get.
        training: how it is trained; None where it is not known.
        open_graph: the network with its unknown lengths, where it has any and ``graph`` has those
            of its data.
    """

    name: str
    graph: LayerGraph
    stored: Mapping[str, Array]
    facts: Mapping[str, str] = field(default_factory=dict)
    checkpoint: Checkpoint | None = None
    make_program: Callable[[], tuple[Program, Mapping[str, Array]]] | None = None
    weights: WeightForm = "float32"
    small: Mapping[str, SmallWeight] = field(default_factory=dict)
    training: ExportedTraining | None = None
    open_graph: LayerGraph | None = None

    @cached_property
    def program(self) -> tuple[Program, Mapping[str, Array]]:
        """The self-contained inference program, and its weights by tensor name.

        With small weights it has a setup section, whose lines (DEQUANTIZE, or CAST of float16)
        make its kernels of int8 or float16 parameters and their scales.
        """
        if self.make_program is None:
            raise DataError("there are weights only, no program", who=self.name)
        return self.make_program()

    @cached_property
    def public(self) -> Mapping[str, Array]:
        """Weights in Keras' names, order and layout."""
        return public_weights(self.graph, self.stored)

    @cached_property
    def public_small(self) -> Mapping[str, tuple[Array, Array | None]]:
        """Values and scales of ``small`` in Keras' layout; values times scales are `public`."""
        return public_small(self.graph, self.small)


@dataclass(frozen=True)
class ModelFile:
    """What was read from a file.

    Attributes:
        weights: by tensor name, as stored; empty where the file has none.
        program: the inference program; None for a file of weights.
        facts: what the file says of data, normalisation and classes, as text.
    """

    weights: Mapping[str, Array]
    program: Program | None = None
    facts: Mapping[str, str] = field(default_factory=dict)


class FileFormat:
    """A form in which models are written to files or read from them.

    Attributes:
        name: in commands and records; lower case.
        title: on the screen.
        ending: of file names, with its dot.
        about: one sentence.
        holds: a program, weights, weights with the state of a training, or a model: a network with
            its weights. A program brings its weights along where ``has_weights``. Weights are
            imported into a project, a model is imported as a new one.
        has_weights: whether weights are in the file.
        is_text: whether people can read the file.
        order: place in lists; the smallest comes first, of the same by name.
        can_drop: whether a file dropped on the window is taken for weights by its ending.
        words: further search words for the export.
        files: patterns of the names of all files in the folder it writes, first of the one that
            stands for them; empty for a format of one file.
        keeps: patterns of other files that may be in the folder; an export leaves them there.
        weight_forms: the forms in which a file may hold kernels.
        opsets: versions of the operator set a file may be in; empty where it has none.
        opset: the one it is written in; see `with_opset`.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    ending: ClassVar[str]
    about: ClassVar[str]
    holds: ClassVar[Holds]
    has_weights: ClassVar[bool] = True
    is_text: ClassVar[bool] = False
    can_drop: ClassVar[bool] = True
    order: ClassVar[int] = 100
    words: ClassVar[tuple[str, ...]] = ()
    files: ClassVar[tuple[str, ...]] = ()
    keeps: ClassVar[tuple[str, ...]] = ()
    weight_forms: ClassVar[tuple[WeightForm, ...]] = ("float32",)
    opsets: ClassVar[range] = range(0)
    opset: int = 0

    members: ClassVar[dict[str, FileFormat]] = {}

    def __init_subclass__(cls, *, abstract: bool = False) -> None:
        super().__init_subclass__()
        if abstract:
            return
        missing = [n for n in ("name", "title", "ending", "about", "holds") if not hasattr(cls, n)]
        if missing:
            raise TypeError(f"{cls.__qualname__} lacks {', '.join(missing)}")
        if not _NAME.fullmatch(cls.name) or not re.fullmatch(r"\.[\w.]*\w", cls.ending):
            raise TypeError(
                f"{cls.__qualname__}: expected a name such as 'npz' and an ending such as '.npz', "
                f"got {cls.name!r} and {cls.ending!r}"
            )
        other = FileFormat.members.get(cls.name)
        if other is not None and _origin(type(other)) != _origin(cls):
            raise TypeError(f"two file formats are called {cls.name!r}: {_origin(type(other))[0]} "
                            f"and {cls.__module__}")  # fmt: skip
        FileFormat.members[cls.name] = cls()
        added(lambda: FileFormat.members.pop(cls.name, None))

    @property
    def in_a_sentence(self) -> str:
        """What it is called behind other words: a common word begins with a small letter."""
        first = self.title.partition(" ")[0]
        return self.title[0].lower() + self.title[1:] if first in _COMMON else self.title

    @property
    def can_import(self) -> bool:
        """Whether a project takes what is in such a file."""
        return self.holds in ("weights", "checkpoint") and self.can_read

    @property
    def can_open(self) -> bool:
        """Whether a new project is made from such a file."""
        return type(self).read_model is not FileFormat.read_model

    @property
    def can_write(self) -> bool:
        """Whether models can be exported in this format."""
        return type(self).write is not FileFormat.write

    @property
    def can_read(self) -> bool:
        """Whether a file can be read back, and so be checked."""
        return type(self).read is not FileFormat.read

    def sniff(self, head: bytes) -> bool:
        """Whether a file that begins with these bytes, at most `HEAD`, is of this format."""
        return False

    def narrow(
        self, name: str, values: Floats, axes: tuple[int, ...], form: WeightForm
    ) -> SmallWeight:
        """A kernel in a small form; see `small_weights.narrow`, which this is unless replaced."""
        return narrow(name, values, axes, form)

    def with_opset(self, opset: int) -> Self:
        """The same format, written in another operator set.

        Raises:
            ParameterError: it has none, or not that one.
        """
        if not self.opsets:
            able = [each.name for each in file_formats() if each.can_write and each.opsets]
            raise ParameterError(
                f"{self.title} ({self.ending}) has no operator set",
                who="export",
                hint=f"formats that have one: {', '.join(able)}",
            )
        if opset not in self.opsets:
            raise ParameterError(
                f"expected an operator set of {self.opsets.start} to {self.opsets.stop - 1}, got "
                f"{opset}",
                who="export",
            )
        made = copy(self)
        made.opset = opset
        return made

    def why_not(self, model: Exportable) -> StudioError | None:
        """Why this model cannot be written, if it cannot."""
        return None

    def staged(self, path: Path) -> StagedFile | StagedFolder:
        """Where a model is written, to be put in its place when it is known to be good.

        Raises:
            FormatError: what is there cannot be replaced.
        """
        if self.files:
            return StagedFolder(path, self.files, self.keeps)
        return StagedFile(path, self.ending)

    def write(self, model: Exportable, path: Path) -> None:
        """Write a model; the same model gives the same bytes.

        A format with ``files`` makes the folder ``path``, which is not there yet.

        Raises:
            FormatError: the file cannot be written.
        """
        raise FormatError(f"{self.title}: this format cannot be written", who=str(path))

    def save(self, model: Exportable, path: Path) -> None:
        """Write a model as `write` does; what fails in it in any other way is a FormatError too."""
        try:
            self.write(model, path)
        except (StudioError, OSError):
            raise
        except Exception as error:
            # That of a plugin fails in any way.
            _LOG.exception("format %s failed", self.name)
            text = f"the format {self.name} cannot write this model: {in_one_line(error)}"
            raise FormatError(text, who=str(path)) from error

    def read(self, path: Path, graph: LayerGraph | None = None) -> ModelFile:
        """Read a file.

        Args:
            path: the file.
            graph: the network weights are for; a program needs none.

        Raises:
            FormatError: it is damaged.
            CheckpointError, ShapeError: its weights do not fit the network.
        """
        raise FormatError(f"{self.title}: this format cannot be read back", who=str(path))

    def weights_of(
        self, arrays: Mapping[str, Array], graph: LayerGraph, who: str
    ) -> Mapping[str, Array]:
        """The weights of a network as stored, from the arrays of a file, whatever read them.

        Args:
            arrays: all of the file, as they are there.
            graph: the network.
            who: the file, for messages.

        Raises:
            CheckpointError, ShapeError: they do not fit the network.
        """
        return stored_weights(graph, arrays, who)

    def read_model(self, path: Path, progress: Progress | None = None) -> ImportedModel:
        """Read a model: a network with its weights.

        Args:
            path: the file.
            progress: hears how far it is; may raise to stop.

        Raises:
            FormatError: it is damaged, or of another kind.
            StudioError: something in it is not known here; it is named.
        """
        del progress
        raise FormatError(f"{self.title}: there is no network in this format", who=str(path))

    def summary(self, content: bytes) -> Iterator[str | Mapping[str, Array]]:
        """Lines that describe a file's content; a mapping is shown as a list of its arrays."""
        yield self.title


def file_formats() -> tuple[FileFormat, ...]:
    """All formats in the order of lists."""
    _find_built_in()
    return tuple(sorted(FileFormat.members.values(), key=lambda each: (each.order, each.name)))


def format_named(name: str) -> FileFormat:
    """The format of that name; ParameterError where there is none."""
    known = {each.name: each for each in file_formats()}
    if name not in known:
        raise ParameterError(
            f"expected a format out of {', '.join(known)}, got {quoted(name)}",
            who="export",
            hint=did_you_mean(name, known),
        )
    return known[name]


def format_for(
    path: Path, among: Iterable[FileFormat] | None = None, who: str = "export"
) -> FileFormat:
    """The format with the ending of a file's name; ParameterError where none has it.

    Args:
        path: the file.
        among: the formats to choose from; by default those that can be written.
        who: the command, for the message.
    """
    known = [each for each in file_formats() if each.can_write] if among is None else list(among)
    found = _ended(path, known)
    if found is None:
        endings = ", ".join(each.ending for each in known)
        raise ParameterError(
            f"unknown file extension of {quoted(path.name)}: expected one of {endings}",
            who=who,
            hint="rename the file" if among else "rename the file or name a format",
        )
    return found


def require_weights(form: FileFormat, weights: WeightForm) -> None:
    """ParameterError where files of a format cannot hold kernels in that form."""
    if weights in form.weight_forms:
        return
    able = [f.name for f in file_formats() if f.can_write and weights in f.weight_forms]
    raise ParameterError(
        f"{form.title} ({form.ending}) cannot hold {weights} weights, only "
        f"{' or '.join(form.weight_forms)}",
        who="export",
        hint=f"formats that can: {', '.join(able)}",
    )


def require_ending(path: Path, form: FileForm, among: Sequence[FileForm] = ()) -> None:
    """ParameterError where a file's name has the ending of another format.

    Args:
        path: the file to write.
        form: what is to be written.
        among: what else there is besides the formats of files.
    """
    other = _ended(path, [*file_formats(), *among])
    # A checkpoint is a safetensors file too.
    if other is None or form.ending.endswith(other.ending):
        return
    raise ParameterError(
        f"the extension of {quoted(path.name)} is for {other.title}, not for {form.title}",
        who="export",
        hint=f"end the name with {form.ending}, or choose the format {other.name}",
    )


def _ended(path: Path, forms: Iterable[F]) -> F | None:
    """The format with the longest ending that a file's name has."""
    fitting = [each for each in forms if path.name.lower().endswith(each.ending)]
    return max(fitting, key=lambda each: len(each.ending), default=None)


@cache
def _find_built_in() -> None:
    import_modules(__package__)


def _origin(cls: type) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__
