"""Steps of a plan bound to arrays, and the numbers they share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from studio.engine.cpu.steps import COPIES, DTYPES, Cell, Place, Step, call_of
from studio.engine.cpu.views import Anything, Run
from studio.engine.formula.constants import folded
from studio.engine.formula.evaluate import evaluator
from studio.engine.formula.kinds import Kind
from studio.engine.formula.tree import Name, Number, names_in, substituted
from studio.engine.isa.meaning import COUNT, RATE
from studio.engine.isa.ops.data import StepWord

Bound: TypeAlias = tuple[Callable[..., object], tuple[Anything, ...], dict[str, Any]]
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
            return np.copyto, (out, given[0]), {"casting": "unsafe"}
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
            rates, step = self.tables["rates"], self.tables["step"]
            return lambda: rates.item(step.item(StepWord.STEP) % len(rates))
        if name == COUNT:
            return partial(self.tables["step"].item, StepWord.UPDATES)
        array = self.arrays[name]
        return lambda: array.item()


def cells_of(cells: Sequence[Cell], known: Known, before: list[Run]) -> list[Anything]:
    """Arrays of one element for cells; what fills those that change is added to ``before``.

    Args:
        cells: what they hold.
        known: the values of their names.
        before: what runs before the elements.
    """
    return [_cell(cell, known, before) for cell in cells]


def _cell(cell: Cell, known: Known, before: list[Run]) -> Anything:
    dtype = DTYPES[cell.kind]
    if isinstance(cell.expression, Name) and cell.expression.name in known.arrays:
        own = known.arrays[cell.expression.name]
        if own.dtype == dtype:
            return own.reshape(())
    values = {name: Number(value) for name, value in known.attributes.items() if _is_number(value)}
    expression = folded(substituted(cell.expression, values))
    made: Anything = np.zeros((), dtype)
    with np.errstate(all="ignore"):
        if isinstance(expression, Number):
            made[...] = expression.value
            return made
    names = sorted(set(names_in(expression)))
    value, getters = evaluator(expression, names), [known.getter(name) for name in names]

    def fill() -> None:
        made[()] = value(*[get() for get in getters])

    before.append(fill)
    return made


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)
