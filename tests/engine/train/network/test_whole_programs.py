"""Programs with inputs or outputs that have no batch dimension run once, on whole arrays."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import DataError
from studio.engine.core.tensor import BATCH, Role, Shape
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops import arithmetic, reduce
from studio.engine.isa.program import Program
from studio.engine.train.devices import open_backend
from studio.engine.train.network.inference import Inference

BACKENDS = ("cpu", pytest.param("gl", marks=pytest.mark.gl))


def program(shape: Shape, instruction: type[Instruction], **fields: object) -> Program:
    builder = ProgramBuilder("whole", "infer")
    x = builder.tensor("x", shape, DType.float32, Role.INPUT)
    y = builder.emit("forward", instruction, name="y", x=x, **fields)[0]
    return builder.finish((x,), (y,))


def answer(made: Program, x: np.ndarray, backend: str = "cpu") -> np.ndarray:
    with open_backend(backend) as opened:
        session = opened.backend.open_session()
        with Inference(opened.backend, made, session) as inference:
            (found,) = inference.run([x])
        session.close()
    return found


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_input_with_a_fixed_first_dimension_is_fed_whole(backend: str) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    found = answer(program((2, 3), arithmetic.Scale, alpha=3.0), x, backend)
    np.testing.assert_array_equal(found, 3 * x)


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_an_output_without_rows_sees_exactly_the_rows_that_were_given(backend: str) -> None:
    x = np.arange(1, 16, dtype=np.float32).reshape(5, 3)
    found = answer(program((BATCH, 3), reduce.ReduceMean), x, backend)
    assert found.shape == ()
    assert found == pytest.approx(x.mean())


@pytest.mark.parametrize(
    "x",
    [np.zeros((3, 3), np.float32), np.zeros((2, 3)), np.zeros((2, 3, 1), np.float32)],
    ids=["rows", "dtype", "rank"],
)
def test_arrays_of_another_form_are_refused(x: np.ndarray) -> None:
    with pytest.raises(DataError, match=r"expected input arrays float32\[2,3\], got float"):
        answer(program((2, 3), arithmetic.Scale, alpha=3.0), x)
    with pytest.raises(DataError, match="expected input arrays"):
        answer(program((BATCH, 3), reduce.ReduceMean), np.zeros((0, 3), np.float32))
