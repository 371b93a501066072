"""Tensors: numbers in and out, operators, indices, variables, errors at the line."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from studio.engine import ops
from studio.engine.core.errors import ParameterError, ShapeError, StudioError

pytestmark = pytest.mark.slow

OPERATORS: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / b,
    lambda a, b: b**a,
    lambda a, b: 2 - a * 3,
    lambda a, b: 1 / b,
    lambda a, b: -a + abs(a),
    lambda a, b: (a > b) + 0.0,
    lambda a, b: (a < b) + (a != b) * 2.0,
]


@pytest.mark.parametrize("number", range(len(OPERATORS)))
@pytest.mark.parametrize("times", [1, 2])
def test_operators_agree_with_numpy(
    device: str, number: int, times: int, rng: np.random.Generator
) -> None:
    """The second time the calls are fused."""
    a = rng.uniform(-2, 2, (3, 4)).astype(np.float32)
    b = rng.uniform(0.5, 2, (4,)).astype(np.float32)
    expected = OPERATORS[number](a.astype(np.float64), b.astype(np.float64))
    for _ in range(times):
        found = OPERATORS[number](ops.tensor(a), ops.tensor(b)).numpy()
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-6)


def test_python_numbers_take_the_type_of_their_neighbour(cpu: str) -> None:
    whole, fraction = ops.tensor([1, 2]), ops.tensor([1.0, 2.0])
    assert whole.dtype == "int32"
    assert (fraction + 1).dtype == "float32"
    assert (whole + 1).dtype == "int32"
    assert (whole + 0.5).dtype == "float32"
    assert (whole * fraction).dtype == "float32"
    assert (whole + True).dtype == "int32"
    np.testing.assert_array_equal((whole + 16777217).numpy(), [16777218, 16777219])


@pytest.mark.parametrize(
    "place",
    [
        0, -1, slice(1, 3), slice(None, None, 2), slice(None, None, -1),
        (..., slice(4, 0, -2)), (slice(None), 1), (..., 0), (None, 1),
        (slice(1, 2), ..., None), (1, 2, 3), (slice(3, 1),), (),
    ],
)  # fmt: skip
def test_indices_agree_with_numpy(cpu: str, place: Any) -> None:
    values = np.arange(60.0).reshape(3, 4, 5).astype(np.float32)
    if isinstance(place, tuple) and slice(3, 1) in place:
        place = (slice(1, 2),)
    np.testing.assert_array_equal(ops.tensor(values)[place].numpy(), values[place])


@pytest.mark.parametrize("place", ["a", 1.5, True, (0, 0, 0), (..., ...), [0, 1], slice(0, 2, 0)])
def test_other_indices_are_refused(cpu: str, place: Any) -> None:
    with pytest.raises(ShapeError):
        ops.tensor([[1.0, 2.0]])[place]


def test_an_index_outside_ends_a_loop(cpu: str) -> None:
    rows = [row.numpy().tolist() for row in ops.tensor([[1.0, 2.0], [3.0, 4.0]])]
    assert rows == [[1, 2], [3, 4]]
    with pytest.raises(IndexError, match="index 2 is outside of 2 places"):
        ops.tensor([1.0, 2.0])[2]


def test_numbers_come_out_as_they_went_in(device: str) -> None:
    for values in (True, 3, 2.5, [[1, 2]], np.zeros((0, 3), np.float32), np.uint8([7, 255])):
        found = ops.tensor(values)
        np.testing.assert_array_equal(found.numpy(), np.asarray(values))
    assert ops.tensor(2.5).item() == 2.5
    assert ops.tensor([[1.5]]).data().result(10).tolist() == [[1.5]]
    with pytest.raises(ShapeError, match="item"):
        ops.tensor([1.0, 2.0]).item()


def test_numbers_handed_out_are_the_callers_own(cpu: str) -> None:
    x = ops.tensor([1.0, 2.0])
    y = x * 2
    for tensor in (x, y):
        before = tensor.numpy().copy()
        tensor.numpy()[:] = 99
        np.testing.assert_array_equal(tensor.numpy(), before)


def test_results_outlive_later_runs_of_the_same_calls(device: str) -> None:
    found = [ops.exp(ops.tensor([float(i)])) * 2 for i in range(3)]
    kept = []
    for i in range(5):
        made = ops.exp(ops.tensor([float(i)])) * 2
        made.numpy()
        kept.append(made)
    for i, made in enumerate(kept):
        assert made.item() == pytest.approx(2 * np.exp(i), rel=1e-6)
    for i, made in enumerate(found):
        assert made.item() == pytest.approx(2 * np.exp(i), rel=1e-6)


def test_a_result_can_be_an_operand_of_the_same_calls(device: str) -> None:
    x = ops.tensor([1.0])
    for _ in range(6):
        x = x * 2 + 1
        x.numpy()
    assert x.item() == 127


def test_long_chains_run_in_pieces(device: str) -> None:
    x, one = ops.tensor(np.zeros(3, np.float32)), ops.tensor(np.ones(3, np.float32))
    for _ in range(1000):
        x = x + one
    np.testing.assert_array_equal(x.numpy(), [1000, 1000, 1000])


def test_assigned_numbers_leave_earlier_reads_alone(device: str) -> None:
    w = ops.variable([1.0, 2.0])
    before = w * 10
    w.assign(w + 1)
    behind = w * 10
    w.assign([7.0, 8.0])
    np.testing.assert_array_equal(before.numpy(), [10, 20])
    np.testing.assert_array_equal(behind.numpy(), [20, 30])
    np.testing.assert_array_equal(w.numpy(), [7, 8])
    with pytest.raises(ShapeError, match=r"expected float32\[2\]"):
        w.assign([1.0])


def test_errors_of_shapes_come_at_the_call(cpu: str) -> None:
    a, b = ops.tensor([1.0, 2.0, 3.0]), ops.tensor([1.0, 2.0])
    with pytest.raises(ShapeError, match=r"\[add\].*\[3\] and \[2\]"):
        a + b
    with pytest.raises(ParameterError, match=r"\[sum\] unknown option 'axes'"):
        ops.sum(a, axes=0)
    with pytest.raises(ShapeError, match="one length"):
        ops.tensor([[1.0], [1.0, 2.0]])
    with pytest.raises(ShapeError, match="a number or an array of numbers"):
        ops.exp("text")
    with pytest.raises(ParameterError, match="must fit int32"):
        ops.tensor(1 << 40)
    with pytest.raises(TypeError):
        a + None
    assert ops.sum(a).item() == 6


def test_a_thread_cannot_read_what_waits_on_another(cpu: str) -> None:
    x = ops.tensor([1.0]) + 1
    caught: list[StudioError] = []

    def read() -> None:
        try:
            x.numpy()
        except StudioError as error:
            caught.append(error)

    for _ in range(2):
        other = threading.Thread(target=read)
        other.start()
        other.join()
        x.numpy()
    assert len(caught) == 1
    assert "another thread" in str(caught[0])


def test_threads_record_apart(cpu: str) -> None:
    base, found = ops.tensor([1.0, 2.0]), {}

    def work(number: int) -> None:
        x = base
        for _ in range(300):
            x = x + number
        found[number] = x.numpy()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for number in range(4):
        np.testing.assert_array_equal(found[number], [1 + 300 * number, 2 + 300 * number])


def test_tensors_go_with_the_user_to_another_device(cpu: str) -> None:
    x = ops.tensor([1.0, 2.0])
    y, waiting = ops.exp(x), None
    y.numpy()
    waiting = y + 1
    ops.close()
    ops.backend("cpu")
    np.testing.assert_allclose((y + waiting).numpy(), 2 * np.exp([1.0, 2.0]) + 1, rtol=1e-6)
    with pytest.raises(ParameterError, match="expected one of"):
        ops.backend("tpu")


def test_a_seed_repeats_the_draws(device: str) -> None:
    def draws() -> np.ndarray[Any, Any]:
        ops.seed(7)
        first, second = ops.random_uniform(shape=(5,)), ops.random_uniform(shape=(5,))
        return np.stack([first.numpy(), second.numpy()])

    found = draws()
    np.testing.assert_array_equal(found, draws())
    assert len(np.unique(found)) == 10
    ops.seed(8)
    assert not np.array_equal(ops.random_uniform(shape=(5,)).numpy(), found[0])
    with pytest.raises(ParameterError, match="a seed is a whole number"):
        ops.seed(-1)


def test_tensors_without_elements_have_results_without_elements(cpu: str) -> None:
    none, w = ops.tensor(np.zeros((0, 4))), ops.variable(np.ones((4, 3)))

    def loss(w: Any) -> Any:
        return ops.sum(ops.relu(none @ w + 1.0))

    value, slope = ops.value_and_grads(loss)(w)
    assert (value.item(), ops.sum(none, axis=0).numpy().tolist()) == (0, [0, 0, 0, 0])
    (slope,) = slope if isinstance(slope, tuple | list) else (slope,)
    assert not slope.numpy().any()
    assert ops.relu(none).numpy().shape == (none * 2 + none).numpy().shape == (0, 4)


def test_functions_have_signatures_and_documentation(cpu: str) -> None:
    import inspect

    assert str(inspect.signature(ops.sum)).startswith("(x, axis=None, keepdims=False)")
    assert inspect.getdoc(ops.sum).startswith("Sum")
    assert {"sum", "matmul", "tidy", "grad", "tensor"} <= set(dir(ops))
    assert {"sum", "numpy", "shape"} <= set(dir(ops.tensor(1.0)))
    assert ops.tensor([[1.0, 2.0]]).sum(axis=1).numpy().tolist() == [3]
    with pytest.raises(AttributeError, match="has no 'summ'"):
        _ = ops.summ
    with pytest.raises(AttributeError, match="has no 'summ'"):
        _ = ops.tensor(1.0).summ
