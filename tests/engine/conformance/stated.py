"""Instructions that state a formula or a rule, with attributes and operands to try them with."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

import studio.engine.isa.ops  # noqa: F401
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ParameterError
from studio.engine.core.options import OptionKind
from studio.engine.formula.kinds import Kind, kind_of
from studio.engine.isa.fields import Access, Attr
from studio.engine.isa.instruction import GradInstruction, Instruction, all_instructions
from tests.engine.conformance.case import Given, exactly, step_block

NAN, INF = np.nan, np.inf
SPECIAL = np.array(
    [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, 0.0625, -0.0625,
     6.0, -6.0, 20.0, -20.0, 100.0, -100.0, 1e-6, -1e-6, 1e-20, -1e-20,
     1e-39, -1e-39, 1e-45, -1e-45],
    np.float32,
)  # fmt: skip
RANDOM = 400
COUNT = RANDOM + SPECIAL.size**2

NEEDED: dict[str, dict[str, Any]] = {
    "CAST": {"dtype": "float32"},
    "BROADCAST": {"shape": (COUNT,)},
}
"""Attributes that must be given."""

SINGLE = {("CLIP_NORM", "norm")}
"""Operands of one element, by their documentation."""


def stated(*, rules: bool) -> list[type[Instruction]]:
    """Every instruction that states a rule, or a formula."""
    return [
        cls
        for cls in all_instructions()
        if not issubclass(cls, GradInstruction)
        and cls.meaning is not None
        and (cls.meaning.rule is not None) == rules
    ]


def settings_of(cls: type[Instruction]) -> Iterator[dict[str, Any]]:
    """Attributes: the defaults, then other numbers with every choice and flag."""
    needed = NEEDED.get(cls.mnemonic, {})
    yield needed
    numbers = {
        attr.name: _another(attr, place)
        for place, attr in enumerate(cls.attr_fields)
        if attr.kind is OptionKind.NUMBER
    }
    words: dict[str, tuple[Any, ...]] = {
        attr.name: attr.choices if attr.kind is OptionKind.CHOICE else (False, True)
        for attr in cls.attr_fields
        if attr.kind in (OptionKind.CHOICE, OptionKind.FLAG) and attr.name not in needed
    }
    if numbers or words:
        for chosen in itertools.product(*words.values()):
            yield {**needed, **numbers, **dict(zip(words, chosen, strict=True))}


def _another(attr: Attr[Any], place: int) -> float:
    for number in (*(0.75, 0.25, 1.5, 0.5)[place % 4 :], 0.5, 2.0, -1.0):
        try:
            return float(attr.check(number, "test"))
        except ParameterError:
            continue
    return float(attr.default)


def kinds_of(cls: type[Instruction], whole: bool = False) -> dict[str, Kind] | None:
    """The kind of each operand read: floats (or whole numbers), truth values where one is asked.

    ``None`` where the formula takes no such operands.
    """
    assert cls.meaning is not None
    assert cls.meaning.value is not None
    words = {OptionKind.FLAG: Kind.BOOL, OptionKind.CHOICE: Kind.TEXT, OptionKind.INTEGER: Kind.INT}
    attrs = {a.name: words.get(a.kind, Kind.FLOAT) for a in cls.attr_fields}
    names = [f.name for f in cls.operand_fields if f.access is not Access.WRITE]
    number = Kind.INT if whole else Kind.FLOAT
    for kinds in itertools.product((number, Kind.BOOL), repeat=len(names)):
        try:
            kind_of(cls.meaning.value, {**attrs, **dict(zip(names, kinds, strict=True))})
        except ParameterError:
            continue
        return dict(zip(names, kinds, strict=True)) if number in kinds else None
    return None


def numbers_for(cls: type[Instruction], name: str, place: int, spread: float = 3.0) -> np.ndarray:
    """Random numbers, then special ones: every pair of them for the first two operands."""
    rng = np.random.default_rng(zlib.crc32(f"{cls.mnemonic} {name}".encode()))
    size = SPECIAL.size
    pairs = np.arange(size * size)
    if place < 2:
        chosen = SPECIAL[pairs // size if place else pairs % size]
    else:
        chosen = SPECIAL[rng.permutation(pairs) % size]
    return np.concatenate([rng.uniform(-spread, spread, RANDOM).astype(np.float32), chosen])


def operands_of(cls: type[Instruction], whole: bool = False) -> dict[str, Given]:
    """What a formula is tried with."""
    kinds = kinds_of(cls, whole)
    assert kinds is not None
    found = {}
    for place, (name, kind) in enumerate(kinds.items()):
        if kind is Kind.BOOL:
            values, dtype = np.arange(COUNT) % 2 == 0, DType.bool
        elif kind is Kind.INT:
            rng = np.random.default_rng(place)
            values = rng.integers(-(1 << 31), 1 << 31, COUNT)
            values[:9] = [0, 1, -1, (1 << 31) - 1, -(1 << 31), 46341, -46341, 65536, 3]
            dtype = DType.int32
        else:
            values, dtype = numbers_for(cls, name, place), DType.float32
        if (cls.mnemonic, name) in SINGLE:
            found[name] = Given((), exactly(1.25))
        else:
            found[name] = Given((COUNT,), exactly(values), dtype)
    return found


def slots_of(cls: type[Instruction], present: frozenset[str]) -> dict[str, Given]:
    """What a rule is tried with."""
    found = {
        "step": step_block(step=6),
        "rates": Given((4,), exactly(0.5, 0.25, 0.125, 0.0625)),
    }
    for place, field in enumerate(f for f in cls.operand_fields if f.name not in found):
        if not field.optional or field.name in present:
            values = numbers_for(cls, field.name, place)
            if place >= 2:
                # Means of squares are positive.
                values = np.where(np.arange(COUNT) < RANDOM, np.abs(values) + 0.1, values)
            found[field.name] = Given((COUNT,), exactly(values))
    return found


def slot_choices(cls: type[Instruction]) -> list[frozenset[str]]:
    """Every choice of optional slots."""
    optional = [f.name for f in cls.operand_fields if f.optional]
    return [
        frozenset(name for name, there in zip(optional, chosen, strict=True) if there)
        for chosen in itertools.product((False, True), repeat=len(optional))
    ]
