"""Steps of a plan bound to arrays, and the numbers they share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np

from studio.engine.cpu.elementwise.steps import COPIES, DTYPES, Cell, Place, Step, call_of
from studio.engine.cpu.memory.views import Anything, Run
from studio.engine.cpu.products.dense import nothing
from studio.engine.formula.constants import folded
from studio.engine.formula.evaluate import storing
from studio.engine.formula.kinds import Kind
from studio.engine.formula.tree import Expression, Name, Number, names_in, substituted
from studio.engine.isa.meaning import COUNT, RATE
from studio.engine.isa.ops.data import StepWord

Bound: TypeAlias = tuple[Callable[..., object], tuple[Any, ...], dict[str, Any]]
"""A function and what it is called with."""


@dataclass(frozen=True)
class Memory:
    """The arrays of one stretch.

    Attributes:
        elements: operands and targets by name.
        words: working memory of four bytes an element.
        masks: working memory of one.
        cells: values that are the same for all elements.
    """

    elements: Mapping[str, Anything]
    words: Sequence[Anything]
    masks: Sequence[Anything]
    cells: Sequence[Anything]

    def bound(self, step: Step) -> Bound:
        """The call of a step."""
        given = tuple(self._array(place, kind, step.bits) for place, kind in step.inputs)
        out = self._array(step.output, step.kind, step.bits)
        if step.function in COPIES:
            same = out.dtype == given[0].dtype
            return np.copyto, (out, given[0]), {} if same else {"casting": "unsafe"}
        return call_of(step.function), given, {"out": out}

    def _array(self, place: Place, kind: Kind, bits: bool) -> Anything:
        match place:
            case Place("word", int(key)):
                array = self.words[key]
            case Place("mask", int(key)):
                array = self.masks[key]
            case Place("scalar", int(key)):
                array = self.cells[key]
            case _:
                array = self.elements[str(place.key)]
        if array.dtype == np.float32 and (bits or kind is Kind.INT):
            return array.view(np.int32)
        return array


@dataclass(frozen=True)
class Known:
    """Where the values of names come from that are no elements.

    Attributes:
        attributes: by name.
        arrays: operands, some of them of one element.
        tables: the step block and the rates of an update.
    """

    attributes: Mapping[str, Any]
    arrays: Mapping[str, Anything]
    tables: Mapping[str, Anything]

    def getter(self, name: str) -> Callable[[], float]:
        """What says the value a name has now."""
        if name == RATE:
            # Python reads a number from a memory view in a third of the time NumPy takes.
            rates, step = self.tables["rates"].data, self.tables["step"].data
            count = len(rates)
            return lambda: rates[step[StepWord.STEP] % count]
        if name == COUNT:
            step = self.tables["step"].data
            return lambda: step[StepWord.UPDATES]
        array = self.arrays[name]
        return lambda: array.item()


def cells_of(cells: Sequence[Cell], known: Known, before: list[Bound]) -> list[Anything]:
    """Arrays of one element for cells; what fills those that change is added to ``before``.

    An operand of one element that is stored as it is computed with is its own array.

    Args:
        cells: what they hold.
        known: the values of their names.
        before: what runs before the elements.
    """
    found: list[Anything] = []
    own: list[tuple[Cell, Anything]] = []
    for cell in cells:
        dtype, given = DTYPES[cell.kind], None
        if isinstance(cell.expression, Name):
            given = known.arrays.get(cell.expression.name)
        if given is not None and given.dtype == dtype:
            found.append(given.reshape(()))
        else:
            found.append(np.zeros((), dtype))
            own.append((cell, found[-1]))
    _fill(own, known, before)
    return found


def row_of(cells: Sequence[Cell], known: Known, before: list[Bound]) -> list[Anything]:
    """Cells in one float32 array, as a loop takes them; no array where there are none.

    A call of compiled code looks at every array it is given, so one is faster than several.

    Args:
        cells: what it holds.
        known: the values of their names.
        before: what runs before the elements.
    """
    row: Anything = np.zeros(len(cells), np.float32)
    _fill([(cell, row[i : i + 1].reshape(())) for i, cell in enumerate(cells)], known, before)
    return [row] if cells else []


def _fill(cells: Sequence[tuple[Cell, Anything]], known: Known, before: list[Bound]) -> None:
    """Store what is fixed, and add to ``before`` the call that stores what changes."""
    values = {name: Number(value) for name, value in known.attributes.items() if _is_number(value)}
    changing: list[tuple[Expression, Anything]] = []
    for cell, array in cells:
        expression = folded(substituted(cell.expression, values))
        if isinstance(expression, Number):
            with np.errstate(all="ignore"):
                array[...] = expression.value
        else:
            changing.append((expression, array))
    if changing:
        names = {name for expression, _ in changing for name in names_in(expression)}
        before.append((storing(changing, {name: known.getter(name) for name in names}), (), {}))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


_MOST_WRITTEN = 64
"""Calls that are written out one by one at most."""


def in_one(calls: Sequence[Bound]) -> Run:
    """One callable that makes all calls in order."""
    if not calls:
        return nothing
    if len(calls) == 1:
        function, given, named = calls[0]
        return partial(function, *given, **named) if given else function
    if len(calls) > _MOST_WRITTEN:
        return partial(_each, calls)
    made: Run = _writer(tuple((len(given), tuple(named)) for _, given, named in calls))(
        *(a for function, given, named in calls for a in (function, *given, *named.values()))
    )
    return made


def _each(calls: Sequence[Bound]) -> None:
    for function, given, named in calls:
        function(*given, **named)


@cache
def _writer(forms: tuple[tuple[int, tuple[str, ...]], ...]) -> Callable[..., Run]:
    """What makes a callable of functions, each with so many arguments and such names.

    For a few numbers NumPy takes less time than a Python loop that unpacks its arguments.
    """
    names, lines = [], []
    for i, (count, named) in enumerate(forms):
        plain = [f"a{i}_{k}" for k in range(count)]
        keyed = {name: f"a{i}_{name}" for name in named}
        given = [*plain, *(f"{name}={value}" for name, value in keyed.items())]
        names += [f"f{i}", *plain, *keyed.values()]
        lines.append(f"        f{i}({', '.join(given)})")
    known: dict[str, Any] = {}
    text = [f"def make({', '.join(names)}):", "    def run():", *lines, "    return run"]
    exec("\n".join(text), known)
    made: Callable[..., Run] = known["make"]
    return made
