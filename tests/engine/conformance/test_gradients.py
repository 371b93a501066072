"""Gradients: every case on every backend against differences of the float64 reference."""

from __future__ import annotations

import zlib
from functools import cache

import numpy as np
import pytest

from studio.engine.isa.instruction import all_instructions
from studio.engine.isa.line import format_line, parse_line
from studio.engine.runtime.backend import Backend
from tests.engine.conformance.case import Case, mnemonic
from tests.engine.conformance.cases.all_cases import CASES
from tests.engine.conformance.harness import (
    BATCH_ROWS,
    build,
    forward_class,
    grad_of,
    gradients,
    target_names,
)
from tests.engine.conformance.test_results import expected, wide
from tests.engine.oracle.table import differences, results, stated_gradient
from tests.tables import sampled

WITH_GRADIENT = [c for c in CASES if c.gradients and forward_class(c).grad_class is not None]

BY_NAME = {str(case): case for case in WITH_GRADIENT}
WITH_SEVERAL = [c for c in WITH_GRADIENT if len(target_names(build(c))) > 1 and not c.same]


def slope_of(case: Case) -> np.ndarray:
    rng = np.random.default_rng(zlib.crc32(f"{case} slope".encode()))
    shape = np.shape(expected(case)["y"])
    return rng.uniform(-1.0, 1.0, shape).astype(np.float32)


def before_of(case: Case) -> dict[str, list[np.ndarray]]:
    """What the gradients hold at the beginning: no zeros, so that nothing left undone shows."""
    built = build(case)
    rng = np.random.default_rng(zlib.crc32(f"{case} before".encode()))
    kept: dict[int, np.ndarray] = {}
    found: dict[str, list[np.ndarray]] = {}
    for name in target_names(built):
        for ref in built.named[name]:
            if ref.id not in kept:
                shape = built.tensors[ref.id].shape
                kept[ref.id] = rng.uniform(1.0, 2.0, shape).astype(np.float32)
        found[name] = [kept[ref.id] for ref in built.named[name]]
    return found


def chosen_places(shape: tuple[int, ...], limit: int = 48) -> list[tuple[int, ...]]:
    """All elements, or as many of them as are worked out in a short time."""
    places = list(np.ndindex(*shape))
    if len(places) <= limit:
        return places
    picks = np.random.default_rng(7).choice(len(places), limit, replace=False)
    return [places[int(i)] for i in sorted(picks)]


@cache
def accumulated(backend: Backend, case_name: str) -> dict[str, list[np.ndarray]]:
    """What a backend adds to the gradients of a case, run once for all its tests."""
    case = BY_NAME[case_name]
    return gradients(backend, case, slope_of(case), before_of(case))


@cache
def wanted_of(case_name: str, name: str, index: int) -> tuple[tuple[tuple[int, ...], float], ...]:
    """The derivatives a case is compared with, worked out once for all its tests."""
    case = BY_NAME[case_name]
    slope, values = slope_of(case).astype(np.float64), wide(case)
    attrs = dict(build(case).ins.attrs)
    stated = stated_gradient(case.mnemonic, values, attrs, slope)
    if stated is not None:
        return tuple((at, float(stated[name][at])) for at in np.ndindex(*stated[name].shape))
    chosen = values[name][index] if isinstance(values[name], list) else values[name]

    def rule(moved: np.ndarray) -> np.ndarray:
        """The result where the chosen operand, and all that are the same tensor, are moved."""
        given = {
            key: [moved if x is chosen else x for x in one]
            if isinstance(one, list)
            else (moved if one is chosen else one)
            for key, one in values.items()
        }
        found: np.ndarray = results(case.mnemonic, given | {"rows": BATCH_ROWS}, attrs)["y"]
        return found

    places = chosen_places(chosen.shape)
    return tuple(zip(places, differences(rule, chosen, slope, places), strict=True))


def compare(case: Case, found: dict[str, list[np.ndarray]], base: dict[str, list[np.ndarray]],
            names: tuple[str, ...]) -> None:  # fmt: skip
    """Found gradients less what was there before are the derivatives."""
    for name in names:
        for index, gradient in enumerate(found[name]):
            got = gradient.astype(np.float64) - base[name][index]
            pairs = wanted_of(str(case), name, index)
            np.testing.assert_allclose(
                [got[at] for at, _ in pairs],
                [value for _, value in pairs],
                rtol=case.grad_rtol,
                atol=case.grad_atol,
                err_msg=f"{case} gradient of {name}",
            )


@pytest.mark.parametrize("case", sampled(WITH_GRADIENT, by=mnemonic))
def test_set_gradients_equal_differences(backend: Backend, case: Case) -> None:
    before = before_of(case)
    names = target_names(build(case))
    # Where two operands are one tensor, the first one sets and the second adds to it.
    first_only = names[:1] if case.same else names
    found = gradients(backend, case, slope_of(case), before, set_=first_only)
    zero = {name: [np.zeros_like(a) for a in given] for name, given in before.items()}
    compare(case, found, zero, names)


@pytest.mark.parametrize("case", sampled(WITH_GRADIENT, by=mnemonic))
def test_accumulated_gradients_are_added(backend: Backend, case: Case) -> None:
    compare(case, accumulated(backend, str(case)), before_of(case), target_names(build(case)))


@pytest.mark.parametrize("case", sampled(WITH_SEVERAL, by=mnemonic))
def test_skipped_gradients_are_left_alone(backend: Backend, case: Case) -> None:
    before = before_of(case)
    names = target_names(build(case))
    every = accumulated(backend, str(case))
    for name in names:
        found = gradients(backend, case, slope_of(case), before, skip=(name,))
        for other in names:
            wanted = before[other] if other == name else every[other]
            # A backend may sum in another order where less is asked of it.
            slack = 0.0 if other == name else 2e-5
            for got, array in zip(found[other], wanted, strict=True):
                np.testing.assert_allclose(
                    got, array, rtol=slack, atol=slack, err_msg=f"{case} {other}"
                )


@pytest.mark.parametrize("case", WITH_GRADIENT, ids=str)
def test_a_gradient_line_is_read_back_as_written(case: Case) -> None:
    built = build(case)
    names = target_names(built)
    for grad_ins in (grad_of(built, names, ()), grad_of(built, (), names[:1])):
        assert parse_line(format_line(grad_ins)) == grad_ins


@pytest.mark.slow
def test_every_gradient_has_a_case() -> None:
    tried = {case.mnemonic for case in WITH_GRADIENT}
    wanted = {cls.mnemonic for cls in all_instructions() if cls.grad_class is not None}
    assert sorted(wanted - tried) == []
