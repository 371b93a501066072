"""Every formula, slope and rule on every backend against float64, edges included.

An instruction joins by stating one: no case need be written for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from studio.engine.isa.instruction import Instruction
from studio.engine.runtime.backend import Backend
from tests.engine.conformance.case import Case, Given
from tests.engine.conformance.harness import build, gradients, results
from tests.engine.conformance.stated import (
    COUNT,
    kinds_of,
    operands_of,
    settings_of,
    slot_choices,
    slots_of,
    stated,
)
from tests.engine.oracle.formulas import (
    EXACT,
    FLOAT32,
    FLUSHING,
    SMALLEST_NORMAL,
    Rounding,
    results_of,
    slopes_of,
    to_float32,
)

FORMULAS = stated(rules=False)
RULES = stated(rules=True)
SLOPES = [cls for cls in FORMULAS if cls.meaning is not None and cls.meaning.slopes]
WHOLE = [cls for cls in FORMULAS if kinds_of(cls, whole=True) is not None]
FLOATS = [cls for cls in FORMULAS if kinds_of(cls) is not None]


def wide(given: dict[str, Given], whole: bool = False) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    found = {name: one.values(rng) for name, one in given.items()}
    return {
        name: values if values.dtype == bool else values.astype(np.int64 if whole else np.float64)
        for name, values in found.items()
    }


SMALLEST = float(np.finfo(np.float32).smallest_subnormal)

Wanted = Callable[[Rounding], dict[str, Any]]
"""What is wanted by name, every operation rounded in some way."""


def compare(
    backend: Backend,
    found: dict[str, np.ndarray],
    wanted: Wanted,
    inputs: dict[str, np.ndarray],
    what: str,
) -> None:
    """Equal but for rounding, with NaN and infinities at the same places.

    Where a number leaves float32's range on the way, the answer may be that of float32. Where an
    operand is denormal, a processor's answer has a small relative error, however small it is, so
    nothing is flushed to zero. OpenGL's answer may also be one with denormals flushed to zero in
    some operands and results, as GLSL lets a device do, and NaN where a gradient is infinite: a
    device may make `dy - dy * y * y` of `dy * (1 - y * y)`, and its sine of 1e-20 may be 0.
    """
    flushes = backend.name == "gl"
    allowed = [wanted(rounding) for rounding in (EXACT, FLOAT32, *(FLUSHING,) * flushes)]
    small = np.zeros((), bool)
    for values in inputs.values():
        small = small | ((values != 0) & (np.abs(values) < SMALLEST_NORMAL))
    for name, expected in allowed[0].items():
        got = found[name].astype(np.float64)
        floor = np.where(small, 4 * SMALLEST, 2e-5) if not flushes else 2e-5
        near = np.any(
            [close(got, choice, floor) for each in allowed for choice in np.atleast_2d(each[name])],
            axis=0,
        )
        if flushes and "dy" in inputs:
            near |= np.isinf(inputs["dy"]) & np.isnan(got)
        places = np.flatnonzero(~near)
        shown = [
            f"{[float(v.flat[p % v.size]) for v in inputs.values()]}: got {got[p]}, "
            f"wanted {expected[p]}"
            for p in places[:6]
        ]
        said = "; ".join(shown)
        assert not places.size, f"{what} {name}: {places.size} of {near.size} differ: {said}"


def close(got: np.ndarray, wanted: Any, floor: np.ndarray) -> np.ndarray:
    """Within a relative error, or an absolute one that small numbers have."""
    return np.isclose(got, to_float32(wanted), rtol=1e-4, atol=floor, equal_nan=True)


@pytest.mark.parametrize("cls", FLOATS, ids=lambda cls: cls.mnemonic)
def test_a_formula_gives_what_it_says(backend: Backend, cls: type[Instruction]) -> None:
    given = operands_of(cls)
    values = wide(given)
    for attrs in settings_of(cls):
        case = Case(cls.mnemonic, "stated", given, attrs)
        known = dict(build(case).ins.attrs)
        found = results(backend, case)

        def wanted(rounding: Rounding, known: dict[str, Any] = known) -> dict[str, Any]:
            return results_of(cls, values, known, rounding=rounding)

        compare(backend, found, wanted, values, f"{cls.mnemonic} {attrs}")


@pytest.mark.parametrize("cls", SLOPES, ids=lambda cls: cls.mnemonic)
def test_slopes_give_what_they_say(backend: Backend, cls: type[Instruction]) -> None:
    given = operands_of(cls)
    values = wide(given)
    dy = np.random.default_rng(3).uniform(-2, 2, COUNT).astype(np.float32)
    dy[::37] = np.inf
    dy[::41] = np.nan
    for attrs in settings_of(cls):
        case = Case(cls.mnemonic, "stated", given, attrs)
        known = dict(build(case).ins.attrs)
        before = {name: [np.zeros(COUNT, np.float32)] for name in cls.slopes}
        found = gradients(backend, case, dy, before, set_=tuple(before))

        def wanted(rounding: Rounding, known: dict[str, Any] = known) -> dict[str, Any]:
            return slopes_of(cls, values, known, dy.astype(np.float64), rounding=rounding)

        made = {name: arrays[0] for name, arrays in found.items()}
        compare(backend, made, wanted, {**values, "dy": dy}, f"{cls.mnemonic} {attrs} slope of")


@pytest.mark.parametrize("cls", WHOLE, ids=lambda cls: cls.mnemonic)
def test_whole_numbers_stay_whole_and_wrap(backend: Backend, cls: type[Instruction]) -> None:
    given = operands_of(cls, whole=True)
    values = wide(given, whole=True)
    for attrs in settings_of(cls):
        case = Case(cls.mnemonic, "stated", given, attrs)
        wanted = results_of(cls, values, dict(build(case).ins.attrs))
        found = results(backend, case)
        for name, array in wanted.items():
            wrapped = np.asarray(array).astype(np.int64).astype(np.int32)
            np.testing.assert_array_equal(found[name], wrapped.astype(found[name].dtype))


@pytest.mark.parametrize("cls", RULES, ids=lambda cls: cls.mnemonic)
def test_a_rule_changes_what_it_says(backend: Backend, cls: type[Instruction]) -> None:
    for present in slot_choices(cls):
        given = slots_of(cls, present)
        values = wide(given)
        for attrs in settings_of(cls):
            case = Case(cls.mnemonic, "stated", given, attrs)
            known = dict(build(case).ins.attrs)
            found = results(backend, case)

            def wanted(
                rounding: Rounding, known: dict[str, Any] = known, v: dict[str, Any] = values
            ) -> dict[str, Any]:
                return results_of(cls, v, known, rounding=rounding)

            shown = {n: v for n, v in values.items() if n not in ("step", "rates")}
            compare(backend, found, wanted, shown, f"{cls.mnemonic} {sorted(present)} {attrs}")
