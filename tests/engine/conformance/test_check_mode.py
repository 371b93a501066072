"""Check mode says the same sentence on every backend, and blames nothing that was sound."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import NumericError
from studio.engine.core.tensor import BATCH, Ref, Role
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.ops.activation import Relu
from studio.engine.isa.ops.arithmetic import Scale
from studio.engine.isa.ops.conv import Conv2D
from studio.engine.isa.ops.function import Log
from studio.engine.isa.ops.group import End, Fuse
from studio.engine.isa.ops.update import UpdateSGD
from studio.engine.isa.program import Program
from studio.engine.runtime import numeric_check
from studio.engine.runtime.backend import Backend
from studio.engine.runtime.numeric_check import bad_numbers

HALO = ((0, 0), (1, 1), (1, 1), (0, 0))


def said(backend: Backend, program: Program, batch: int, **given: np.ndarray) -> str:
    """What check mode says of a run, or nothing."""
    session = backend.open_session()
    executable = backend.compile(program, session, batch)
    for name, values in given.items():
        tensor = program.tensors.named(name)
        if tensor.id in program.inputs:
            executable.feed(tensor.id, values)
        else:
            session.write(name, values)
    try:
        executable.check()
    except NumericError as error:
        return str(error)
    finally:
        executable.close()
        session.close()
    return ""


def picture() -> Program:
    """A ReLU into a halo, and a convolution of it, in layers of these names."""
    b = ProgramBuilder("picture", "infer")
    x = b.tensor("x", (BATCH, 2, 3, 1), role=Role.INPUT)
    with b.owned_by("relu"):
        inside = b.tensor("relu/output", (BATCH, 2, 3, 1), pad=HALO)
        b.append("forward", Relu(x=x, y=inside))
    with b.owned_by("conv"):
        w = b.tensor("conv/kernel", (1, 1, 1, 2), role=Role.PARAM)
        y = b.tensor("conv/linear", (BATCH, 2, 3, 2))
        b.append("forward", Conv2D(w=w, x=inside, y=y))
    return b.finish((x,), (y,))


def logarithm() -> Program:
    """y = ln(alpha·x), fused."""
    b = ProgramBuilder("logarithm", "infer")
    x = b.tensor("x", (BATCH, 2), role=Role.INPUT)
    with b.owned_by("log"):
        hidden, y = b.tensor("hidden", (BATCH, 2), register=True), b.tensor("y", (BATCH, 2))
        for ins in (Fuse(kind="chain"), Scale(x=x, y=hidden, alpha=2.0), Log(x=hidden, y=y), End()):
            b.append("forward", ins)
    return b.finish((x,), (y,))


def update() -> Program:
    """w -= rate·g, where g is fed."""
    b = ProgramBuilder("update", "train")
    g = b.tensor("g", (2, 2), role=Role.INPUT)
    with b.owned_by("dense"):
        w = b.tensor("dense/kernel", (2, 2), role=Role.PARAM, trainable=True)
        step = b.tensor("train/step", (8,), DType.int32, Role.STEP)
        rates = b.tensor("train/rates", (4,), role=Role.STEP)
    with b.owned_by("update"):
        b.append("update", UpdateSGD(w=w, g=g, step=step, rates=rates))
    return b.finish((g,), (w,))


def update_given(
    kernel: float = 1.0, gradient: float = 1.0, rate: float = 0.5
) -> dict[str, np.ndarray]:
    return {
        "g": np.full((2, 2), gradient, np.float32),
        "dense/kernel": np.full((2, 2), kernel, np.float32),
        "train/step": np.zeros(8, np.int32),
        "train/rates": np.full(4, rate, np.float32),
    }


def test_the_whole_sentence(backend: Backend) -> None:
    x = np.ones((2, 2, 3, 1), np.float32)
    w = np.ones((1, 1, 1, 2), np.float32)
    assert said(backend, picture(), 2, x=x, **{"conv/kernel": w}) == ""
    x[1, 0, 2] = 1e30
    w[..., 1] = 1e30
    text = said(backend, picture(), 2, x=x, **{"conv/kernel": w})
    assert text == (
        "[CONV2D] 0x3 conv/linear must be finite: got 1 of 24 elements that are not, the first "
        "inf at [1, 0, 2, 1], written by line 1 `CONV2D 0x2 0x- 0x1 0x3 1 1 0 0 1 1` in forward "
        "from 0x1 relu/output (finite), 0x2 conv/kernel (finite) (layer conv)\n"
        "  hint: its inputs were finite: they may be too large, or outside the function's "
        "domain"
    )


@pytest.mark.parametrize(
    ("value", "kind"), [(0.0, "-inf"), (-1.0, "nan")], ids=["minus infinity", "nan"]
)
def test_a_fused_line_is_found_alone(backend: Backend, value: float, kind: str) -> None:
    x = np.ones((3, 2), np.float32)
    x[1:, 0] = value
    text = said(backend, logarithm(), 3, x=x)
    assert text.startswith("[LOG] 0x2 y must be finite: got 2 of 6 elements that are not, ")
    assert f"the first {kind} at [1, 0]" in text
    assert "in forward from 0x1 hidden (finite) (layer log)" in text
    assert "its inputs were finite" in text


def test_what_was_fed_bad_is_blamed_and_not_called_finite(backend: Backend) -> None:
    x = np.array([[1.0, np.inf]], np.float32)
    text = said(backend, logarithm(), 1, x=x)
    assert text.startswith("[SCALE] 0x1 hidden")
    assert "0x0 x (1 of 2 NaN or infinite, the first inf)" in text
    assert "0x0 x held NaN or infinity before: check the input data" in text
    assert "were finite" not in text


@pytest.mark.parametrize("rate", [np.inf, np.nan])
def test_a_bad_learning_rate_is_blamed(backend: Backend, rate: float) -> None:
    text = said(backend, update(), 1, **update_given(rate=rate))
    assert "train/rates held NaN or infinity before: check the learning rate" in text
    assert "dense/kernel (finite)" in text
    assert "were finite" not in text


def test_a_parameter_that_was_bad_before_its_update_is_blamed(backend: Backend) -> None:
    text = said(backend, update(), 1, **update_given(kernel=np.nan))
    assert "dense/kernel (4 of 4 NaN or infinite, the first nan)" in text
    assert "dense/kernel held NaN or infinity before: check the weights" in text


def test_an_update_that_overflows_had_finite_operands(backend: Backend) -> None:
    assert said(backend, update(), 1, **update_given()) == ""
    text = said(backend, update(), 1, **update_given(gradient=-1e30, rate=1e30))
    assert "4 of 4 elements that are not, the first inf at [0, 0]" in text
    assert "lower the learning rate or clip gradients" in text
    assert "NaN or infinite" not in text
    # Who follows it comes to the layer whose parameter it is, not to the optimiser.
    assert "(layer dense)" in text


def test_a_setting_that_is_no_number_is_blamed(backend: Backend) -> None:
    b = ProgramBuilder("scaled", "infer")
    x = b.tensor("x", (BATCH, 2), role=Role.INPUT)
    with b.owned_by("scale"):
        (y,) = b.emit("forward", Scale, x=x, alpha=float("inf"))
    text = said(backend, b.finish((x,), (y,)), 1, x=np.ones((1, 2), np.float32))
    assert "alpha=inf is NaN or infinite: check the layer's options" in text


def test_a_ceiling_of_infinity_is_none_and_not_blamed(backend: Backend) -> None:
    text = said(
        backend,
        picture(),
        1,
        x=np.full((1, 2, 3, 1), np.inf, np.float32),
        **{"conv/kernel": np.ones((1, 1, 1, 2), np.float32)},
    )
    assert text.startswith("[RELU]")
    assert "0x0 x held" in text
    assert "ceiling" not in text


@pytest.mark.slow
def test_bad_numbers_are_counted_and_placed() -> None:
    assert bad_numbers(np.array([1, 2])) is None
    assert bad_numbers(np.zeros((2, 0), np.float32)) is None
    found = bad_numbers(np.array(np.nan, np.float32))
    assert found is not None
    assert (found.count, found.numel, found.place) == (1, 1, ())


def test_what_broke_and_its_operands_are_copied(backend: Backend) -> None:
    program = picture()
    session = backend.open_session()
    executable = backend.compile(program, session, 2)
    x = np.ones((2, 2, 3, 1), np.float32)
    x[1, 0, 2] = 1e30
    w = np.array([1.0, 1e30], np.float32).reshape(1, 1, 1, 2)
    executable.feed(program.tensors.named("x").id, x)
    session.write("conv/kernel", w)
    with pytest.raises(NumericError) as caught:
        executable.check()
    executable.close()
    session.close()
    result, *operands = caught.value.tensors
    assert (result.name, result.grad) == ("conv/linear", False)
    with np.errstate(over="ignore"):
        assert np.array_equal(result.values, x * w[0, 0, 0])
    assert np.isinf(result.values[1, 0, 2, 1])
    copied = {tensor.name: tensor.values for tensor in operands}
    assert copied.keys() == {"relu/output", "conv/kernel"}
    assert np.array_equal(copied["relu/output"], x)
    assert np.array_equal(copied["conv/kernel"], w)


def test_operands_too_large_to_copy_are_left_out(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numeric_check, "COPIED_BYTES", 60)
    program = logarithm()
    session = backend.open_session()
    executable = backend.compile(program, session, 9)
    executable.feed(program.tensors.named("x").id, np.zeros((9, 2), np.float32))
    with pytest.raises(NumericError) as caught:
        executable.check()
    executable.close()
    session.close()
    assert [tensor.name for tensor in caught.value.tensors] == ["y"]


def test_storages_asked_for_are_given_as_they_were_last_written(backend: Backend) -> None:
    program = logarithm()
    session = backend.open_session()
    executable = backend.compile(program, session, 2)
    executable.feed(program.tensors.named("x").id, np.full((2, 2), 0.5, np.float32))
    hidden = Ref(program.tensors.named("hidden").id)
    kept = executable.check({hidden})
    executable.close()
    session.close()
    assert kept.keys() == {hidden}
    assert np.array_equal(kept[hidden], np.ones((2, 2), np.float32))
