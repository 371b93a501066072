"""The functions of ``studio.engine.ops`` as a type checker and as ``inspect`` see them."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from studio.engine import ops
from studio.engine.core.errors import ParameterError
from studio.engine.operations.table import OPERATIONS

ROOT = Path(__file__).resolve().parents[3]

RIGHT = """
import numpy as np
from studio.engine import ops

x = ops.tensor([[1.0, 2.0]])
images = ops.reshape(np.zeros(64), (1, 8, 8, 1))
y = ops.conv2d(images, np.zeros((3, 3, 1, 2)), None, 2, padding="same")
total: float = float(ops.sum(x, axis=(0, 1)) + ops.mean(x, 0).sum(keepdims=True))
values, places = ops.top_k(x, k=1)
parts: tuple[ops.Tensor, ...] = ops.split(x, 2, axis=1)
joined = ops.concatenate(x, [[3, 4]], axis=0)
value, slopes = ops.variable_grads(lambda: ops.mean(ops.variable([1.0], name="w") ** 2))
name: str = slopes["w"].dtype
with ops.tidy():
    ops.keep(ops.einsum(x, x, equation="ij,kj->ik"))
reveal_type(y)
reveal_type(ops.moments(x))
"""
WRONG = {
    "ops.conv2d(x)": "Missing positional argument",
    "ops.conv2d(x, x, padding='some')": "Literal['valid', 'same']",
    "ops.ad(x, x)": "has no attribute",
    "ops.sum(x, axes=0)": "Unexpected keyword argument",
    "ops.softmax(x, axis='last')": "incompatible type",
}


@pytest.mark.slow
def test_a_type_checker_knows_the_functions(tmp_path: Path) -> None:
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(RIGHT, encoding="utf-8")
    begin = "from studio.engine import ops\nx = ops.tensor(1.0)\n"
    wrong.write_text(begin + "\n".join(WRONG) + "\n", encoding="utf-8")
    answer = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--follow-imports=silent",
         "--cache-dir", str(tmp_path / "cache"), str(right), str(wrong)],
        capture_output=True, text=True, check=False, cwd=ROOT, env={"MYPYPATH": str(ROOT)},
    )  # fmt: skip
    lines = answer.stdout.splitlines()
    assert [line for line in lines if "right.py" in line and "error" in line] == []
    revealed = [line for line in lines if "Revealed type" in line]
    assert revealed[0].count("handle.Tensor") == 1
    assert revealed[1].count("handle.Tensor") == 2
    errors = {}
    for line in lines:
        if "wrong.py" in line and "error" in line:
            errors[int(line.split(":")[1]) - 3] = line
    assert sorted(errors) == list(range(len(WRONG)))
    for number, words in enumerate(WRONG.values()):
        assert words in errors[number]


def test_signatures_are_those_that_calls_take(cpu: str) -> None:
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(ops.sum(x, 0).numpy(), x.sum(0))
    np.testing.assert_array_equal(ops.reshape(x, (3, 2)).numpy(), x.reshape(3, 2))
    for operation in OPERATIONS.values():
        parameters = inspect.signature(getattr(ops, operation.name)).parameters
        named = [*operation.operands, *operation.options]
        assert list(parameters) == [each.name for each in named], operation.name
    with pytest.raises(ParameterError, match="at most 3 values"):
        ops.sum(x, 0, False, 1)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("expandDims", ": here it is 'expand_dims'"),
        ("Gemm", ": here it is 'linear'"),
        ("nothing_like_it", ""),
        ("_wrapped", ""),
    ],
)
def test_a_name_of_another_library_is_told_ours(name: str, told: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(ops, name)
    assert str(caught.value) == f"studio.engine.ops has no {name!r}{told}"


def test_as_many_results_as_there_are_come_as_a_tuple(cpu: str) -> None:
    (alone,) = ops.unstack([[1.0, 2.0]])
    assert alone.shape == (2,)
    assert len(ops.unstack([[1.0], [2.0]])) == 2
    assert len(ops.moments([1.0, 2.0])) == 2
