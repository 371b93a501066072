"""Results: every case on every backend against the naive float64 reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from studio.engine.isa.fields import Access
from studio.engine.isa.instruction import all_instructions
from studio.engine.isa.line import format_line, parse_line
from studio.engine.runtime.backend import Backend
from tests.engine.conformance.case import Case, mnemonic
from tests.engine.conformance.cases.all_cases import CASES
from tests.engine.conformance.harness import BATCH_ROWS, build, results
from tests.engine.oracle.table import results as reference
from tests.tables import sampled


def wide(case: Case) -> dict[str, Any]:
    """Operand contents as float64; operands that are one tensor stay one array."""
    memo: dict[int, Any] = {}

    def widen(array: np.ndarray) -> np.ndarray:
        if id(array) not in memo:
            # The array itself is kept beside its copy, so that no other takes its id.
            memo[id(array)] = (array, array.astype(np.float64))
        return memo[id(array)][1]

    return {
        name: [widen(a) for a in given] if isinstance(given, list) else widen(given)
        for name, given in case.values().items()
    }


def expected(case: Case) -> dict[str, np.ndarray]:
    built = build(case)
    values = wide(case)
    if case.out is not None:
        values["y_shape"] = case.out.shape
    values["rows"] = BATCH_ROWS
    found = reference(case.mnemonic, values, dict(built.ins.attrs))
    return {name: array for name, array in found.items() if name not in case.without}


def test_case_names_are_unique() -> None:
    assert len({str(case) for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_line_is_read_back_as_written(case: Case) -> None:
    ins = build(case).ins
    assert parse_line(format_line(ins)) == ins


@pytest.mark.parametrize("case", sampled(CASES, by=mnemonic))
def test_results_equal_the_reference(backend: Backend, case: Case) -> None:
    wanted = expected(case)
    found = results(backend, case)
    assert set(wanted) <= set(found)
    for name, array in wanted.items():
        got = found[name]
        assert got.shape == np.shape(array)
        np.testing.assert_allclose(
            got.astype(np.float64),
            np.asarray(array, np.float64),
            rtol=case.rtol,
            atol=case.atol,
            err_msg=f"{case} {name}",
        )


@pytest.mark.parametrize("case", CASES, ids=str)
def test_inferred_types_are_those_of_the_reference(case: Case) -> None:
    built = build(case)
    wanted = expected(case)
    made = [kind.bind(3) for kind in built.inferred]
    written = [s.name for s, r in built.ins.named_operands()
               if s.access is Access.WRITE and r.present]  # fmt: skip
    if made and written and case.out is None:
        assert made[0].shape == np.shape(wanted[written[0]])


def test_every_instruction_has_a_case() -> None:
    """Those that state a formula or a rule are tried from it, see test_formulas.py.

    ALLREDUCE needs several workers: tests/engine/scale/parallel compares them with one.
    """
    tried = {case.mnemonic for case in CASES} | {"ALLREDUCE"}
    markers = {"FUSE", "END"}
    left_out = [
        cls.mnemonic
        for cls in all_instructions()
        if not cls.mnemonic.startswith("GRADS_")
        and cls.meaning is None
        and cls.mnemonic not in tried | markers
    ]
    assert left_out == []
