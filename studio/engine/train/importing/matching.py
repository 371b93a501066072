"""Which array of a file is which parameter of a network: a table for the user to confirm.

Names decide first. Of what is left, arrays and parameters of one shape are paired in order, but
only where there are as many of either: with one more it could not be told which is left over.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from studio.engine.core.errors import CheckpointError, FormatError, ShapeError, StudioError, quoted
from studio.engine.core.tensor import Shape
from studio.engine.interop.file_format import Array
from studio.engine.interop.imported import ImportReport
from studio.engine.interop.reading import format_of, import_endings
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.named_parameters import NamedParameter, named_parameters
from studio.engine.layers.weights import to_stored

MatchState: TypeAlias = Literal["name", "shape", "hand", "wrong shape", "no match"]
MATCH_WORDS: Mapping[MatchState, str] = {
    "name": "By name",
    "shape": "By shape",
    "hand": "By hand",
    "wrong shape": "Wrong shape",
    "no match": "No match",
}
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class MatchRow:
    """One array of a file.

    Attributes:
        name: in the file.
        shape: in the file.
        parameter: the parameter it is taken for; with a wrong shape the one it is named after;
            empty for none.
        state: how that was found.
        wanted: shape of that parameter in Keras' layout.
    """

    name: str
    shape: Shape
    parameter: str = ""
    state: MatchState = "no match"
    wanted: Shape = ()

    @property
    def is_matched(self) -> bool:
        """Whether it can be taken."""
        return self.state in ("name", "shape", "hand")


@dataclass(frozen=True)
class MatchTable:
    """What a file has for a network.

    Attributes:
        rows: every array of the file, in its order.
        unmet: parameters that nothing in the file is taken for, with their shapes.
    """

    rows: tuple[MatchRow, ...]
    unmet: tuple[tuple[str, Shape], ...]

    @property
    def rows_by_name(self) -> dict[str, MatchRow]:
        """The rows by the names of their arrays."""
        return {row.name: row for row in self.rows}

    @property
    def is_exact(self) -> bool:
        """Whether every array and every parameter found the other by name."""
        return not self.unmet and all(row.state == "name" for row in self.rows)

    def without(self, names: Iterable[str]) -> MatchTable:
        """The same, where arrays of these names are taken for nothing."""
        left = frozenset(names)
        freed = [(r.parameter, r.wanted) for r in self.rows if r.name in left and r.is_matched]
        rows = tuple(
            replace(row, parameter="", state="no match", wanted=()) if row.name in left else row
            for row in self.rows
        )
        return MatchTable(rows, (*self.unmet, *freed))

    def choices(self, name: str) -> tuple[str, ...]:
        """Parameters an array could be taken for: of its shape, and nothing is taken for them."""
        row = self.rows_by_name.get(name)
        return () if row is None else tuple(n for n, shape in self.unmet if shape == row.shape)

    def with_choice(self, name: str, parameter: str) -> MatchTable:
        """The same, where an array is taken for a parameter of its shape.

        Raises:
            CheckpointError: there is no such array, or the parameter is none of `choices`.
        """
        freed = self.without([name])
        if parameter not in freed.choices(name):
            row = freed.rows_by_name.get(name)
            shape = "no such array" if row is None else f"an array {list(row.shape)}"
            raise CheckpointError(
                f"expected a parameter of its shape that nothing is taken for, got {shape} and "
                f"{quoted(parameter)}",
                who=name,
            )
        rows = tuple(
            replace(row, parameter=parameter, state="hand", wanted=row.shape)
            if row.name == name else row
            for row in freed.rows
        )  # fmt: skip
        return MatchTable(rows, tuple(each for each in freed.unmet if each[0] != parameter))


def weight_arrays(source: Path | str) -> Mapping[str, Array]:
    """All arrays of a file of weights by their names there, in its order.

    Raises:
        FormatError: it is damaged, or holds no weights.
    """
    found = format_of(source)
    if found is None or not found.can_import:
        what = "a file of another kind" if found is None else found.in_a_sentence
        raise FormatError(
            f"expected weights as {' or '.join(import_endings())}, got {what}", who=str(source)
        )
    return found.read(Path(source)).weights


def match_file(graph: LayerGraph, source: Path | str) -> MatchTable | None:
    """Which array of a file of weights is which parameter; None where each is as the format says.

    Raises:
        FormatError: it is damaged, or holds no weights.
    """
    found = format_of(source)
    if found is not None and found.can_import:
        try:
            found.read(Path(source), graph)
        except (CheckpointError, ShapeError):
            pass
        else:
            return None
    table = match_weights(graph, weight_arrays(source))
    return None if table.is_exact else table


def match_weights(graph: LayerGraph, arrays: Mapping[str, Array]) -> MatchTable:
    """Which array is which parameter, in Keras' layout: by name, then by shape."""
    wanted = named_parameters(graph)
    shapes = {each.name: each.public_shape for each in wanted}
    rows = [MatchRow(name, tuple(values.shape)) for name, values in arrays.items()]
    by_name = _by_name(list(arrays), list(shapes))
    taken: set[str] = set()
    for place, row in enumerate(rows):
        ours = by_name.get(row.name)
        if ours is None:
            continue
        fits = shapes[ours] == row.shape
        rows[place] = replace(
            row, parameter=ours, state="name" if fits else "wrong shape", wanted=shapes[ours]
        )
        # What has the name has the parameter, so that no other array is taken for it.
        taken.add(ours)
    _by_shape(rows, [(name, shape) for name, shape in shapes.items() if name not in taken])
    met = {row.parameter for row in rows if row.is_matched}
    return MatchTable(tuple(rows), tuple((n, s) for n, s in shapes.items() if n not in met))


def matched_weights(
    graph: LayerGraph,
    arrays: Mapping[str, Array],
    table: MatchTable,
    others: Callable[[], Mapping[str, Array]],
    who: str,
) -> dict[str, Array]:
    """Weights as stored, from the arrays that a table takes.

    Args:
        graph: the network.
        arrays: of the file.
        table: as the user confirmed it.
        others: weights as stored for parameters that nothing is taken for.
        who: the file, for errors.

    Raises:
        CheckpointError: nothing is taken, or an array holds no finite numbers of single precision.
    """
    chosen = {row.parameter: row.name for row in table.rows if row.is_matched}
    if not chosen:
        raise CheckpointError(
            f"none of its {len(table.rows)} arrays fits a parameter of the network", who=who
        )
    rest = others() if table.unmet else {}
    made = {}
    for each in named_parameters(graph):
        if each.name in chosen:
            made[each.name] = _stored(each, chosen[each.name], arrays, who)
        else:
            made[each.name] = rest[each.name]
    return made


def report_of(table: MatchTable, source: str, form: str) -> ImportReport:
    """What became of the arrays of a file of weights."""
    left_out = [
        f"{row.name} {list(row.shape)}: {_why(row)}" for row in table.rows if not row.is_matched
    ]
    how = {"shape": "by its shape", "hand": "by hand"}
    remarks = [
        f"{row.name} was taken for {row.parameter} {how[row.state]}"
        for row in table.rows
        if row.state in how
    ]
    remarks += [f"nothing was taken for {name}" for name, _ in table.unmet]
    return ImportReport(source, form, left_out=tuple(left_out), remarks=tuple(remarks))


def _why(row: MatchRow) -> str:
    if row.state == "wrong shape":
        return f"{row.parameter} has the shape {list(row.wanted)}"
    return "taken for no parameter"


def _stored(each: NamedParameter, name: str, arrays: Mapping[str, Array], who: str) -> Array:
    values = arrays[name]
    if values.dtype.kind not in "fiu":
        raise CheckpointError(f"{quoted(name)} holds no numbers but {values.dtype}", who=who)
    if not np.isfinite(values).all() or (values.size and np.abs(values).max() > _LARGEST):
        raise CheckpointError(
            f"{quoted(name)} holds NaN, infinity or a number beyond single precision", who=who
        )
    try:
        return to_stored(each.layer, each.parameter, values)
    except StudioError as error:
        raise CheckpointError(f"{quoted(name)}: {error.message}", who=who) from error


def _by_name(names: Sequence[str], ours: Sequence[str]) -> dict[str, str]:
    """Parameters by names of a file: the same name, else the same words behind a common prefix."""
    found = {name: name for name in names if name in set(ours)}
    rest = [name for name in names if name not in found]
    open_ones = {_words(name): name for name in ours if name not in found}
    for skip in range(3):
        plain = _unique((_words(name)[skip:], name) for name in rest)
        hits = {name: open_ones[words] for words, name in plain.items() if words in open_ones}
        if hits:
            return found | hits
    return found


def _words(name: str) -> tuple[str, ...]:
    """The parts of a name, however they are joined: ``a.b``, ``a/b:0``."""
    return tuple(part for part in re.split(r"[/.]", re.sub(r":\d+\Z", "", name)) if part)


def _unique(pairs: Iterable[tuple[tuple[str, ...], str]]) -> dict[tuple[str, ...], str]:
    """Names by words that only one of them has."""
    made: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for words, name in pairs:
        made[words].append(name)
    return {words: names[0] for words, names in made.items() if len(names) == 1}


def _by_shape(rows: list[MatchRow], open_ones: Iterable[tuple[str, Shape]]) -> None:
    """Pair what is left of each shape in order, where there are as many of either."""
    wanted: dict[Shape, list[str]] = defaultdict(list)
    for name, shape in open_ones:
        wanted[shape].append(name)
    given: dict[Shape, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        if row.state == "no match":
            given[row.shape].append(place)
    for shape, places in given.items():
        if len(places) != len(wanted.get(shape, ())):
            continue
        for place, name in zip(places, wanted[shape], strict=True):
            rows[place] = replace(rows[place], parameter=name, state="shape", wanted=shape)
