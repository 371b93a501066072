"""Every operation of the table as a layer: of one shape with its batch, or refused with a reason.

What a layer computes is what the same operation gives at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest

from studio.engine import Input, Model, Operator, ops
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import BATCH, TensorType
from studio.engine.layers.graph import checked_types
from studio.engine.operations import OPERATIONS
from tests.engine.operations.cases import arrays, elementwise, models, sampling
from tests.engine.operations.cases.case import Case

TABLE = (3, 4)
PICTURES = (3, 4, 4, 4)
CUBE = (3, 4, 5)
NONE = {"reduction": "none"}
PLACES = np.array([[0, 1], [2, 1], [1, 0]], np.int32)

AS_LAYERS = [
    Case("adjust_gamma", (PICTURES,), low=0.1),
    Case("depth_to_space", (PICTURES,)),
    Case("grayscale_to_rgb", ((3, 4, 4, 1),)),
    Case("isclose", (TABLE, TABLE)),
    Case("local_response_normalization", (PICTURES,)),
    Case("nan_to_num", (TABLE,)),
    Case("rotate_quarters", (PICTURES,)),
    Case("space_to_depth", (PICTURES,)),
    Case("squeeze", ((3, 1, 4),)),
    Case("step", (TABLE,)),
    Case("tile", (TABLE,), {"repeats": (1, 2)}),
    Case("accuracy", (PLACES, PLACES), {"axis": -1}),
    Case("add_all", (TABLE, TABLE, (3, 1))),
    Case("band_part", (CUBE,), {"below": 1, "above": 2}),
    Case("broadcast_to", (TABLE,), {"shape": (-1, -1)}),
    Case("count_nonzero", (TABLE,), {"axis": -1}),
    Case("crop", (TABLE,), {"amounts": ((0, 0), (1, 2))}),
    Case("dropout", (TABLE,), {"rate": 0.5}),
    Case("flip", (TABLE,), {"axis": 1}),
    Case("hinge", (TABLE, TABLE), NONE),
    Case("huber", (TABLE, TABLE), NONE),
    Case("log_cosh", (TABLE, TABLE), NONE),
    Case("log_loss", (TABLE, TABLE), NONE, low=0.1, high=0.9),
    Case("mean_squared_error", (TABLE, TABLE), NONE),
    Case("min", (CUBE,), {"axis": (1, 2)}),
    Case("mirror_pad", (CUBE,), {"pads": ((0, 0), (1, 1), (2, 0))}),
    Case("isfinite", (TABLE,)),
    Case("isinf", (TABLE,)),
    Case("isnan", (TABLE,)),
    Case("moments", (TABLE,), {"axis": -1}),
    Case("moveaxis", (CUBE,), {"source": 1}),
    Case("pad", (TABLE,), {"pads": ((0, 0), (1, 2)), "value": 2.0}),
    Case("poisson_loss", (TABLE, TABLE), NONE, low=0.1),
    Case("sigmoid_cross_entropy", (TABLE, TABLE), NONE),
    Case("sparse_softmax_cross_entropy", (np.array([1, 0, 3], np.int32), TABLE), NONE),
    Case("swapaxes", (CUBE,)),
    Case("trace", (CUBE,)),
    Case("triu", (CUBE,)),
    Case("weighted_loss", (TABLE, TABLE), NONE),
]
"""Calls that leave the batch alone, where those of the table's own tests do not."""

LOST = "a result that begins with the batch N"
UNKNOWN = "length of the batch is not known"

REFUSED: dict[str, tuple[str, tuple[str, ...], str]] = {
    **{
        name: (f"({','.join(f'{o.name}=3' for o in made.options if o.required)})", (),
               "makes one tensor for the whole batch")
        for name, made in OPERATIONS.items() if not made.operands
    },
    "batch_to_space": ("(block=[1, 2])", ("float32[N,2,4,1]",), UNKNOWN),
    "bincount": ("(length=4)", ("int32[N,2]",), UNKNOWN),
    "confusion_matrix": ("(classes=3)", ("int32[N]", "int32[N]"), LOST),
    "diag": ("", ("float32[N]",), "expected a vector"),
    "flipud": ("", ("float32[N,2]",), UNKNOWN),
    "kron": ("", ("float32[N,2]", "float32[N,2]"), UNKNOWN),
    "map_coordinates": ("", ("float32[N,5]", "float32[N,3]"), "expected a matrix"),
    "ravel": ("", ("float32[N,2]",), "the element count must not change"),
    "scatter": ("(shape=[3, 2])", ("int32[N,1]", "float32[N,2]"), LOST),
    "segment_sum": ("(count=3)", ("float32[N,2]", "int32[N]"), LOST),
    "space_to_batch": ("(block=[1, 2])", ("float32[N,2,4,1]",), UNKNOWN),
}  # fmt: skip
"""Operations that can be no layer: options they need, inputs, and what the refusal says."""


def type_of(text: str) -> TensorType:
    """The type that is written like this."""
    dtype, _, sizes = text.rstrip("]").partition("[")
    shape = tuple(BATCH if size == "N" else int(size) for size in sizes.split(","))
    return TensorType(shape, DType[dtype])


UNLIKE = {"bernoulli", "dropout", "multinomial", "strided_slice"}
"""These draw; and the end -1 of a batch means all of it, as its length is not known."""


class Fitting(NamedTuple):
    """A case as a layer: which operands are inputs, the others being constants."""

    case: Case
    layer: Operator
    inputs: tuple[np.ndarray, ...]
    types: tuple[TensorType, ...]


def fitted(case: Case) -> Fitting | None:
    """The case with as many inputs as it can have, or None."""
    operands = case.arrays()
    made = OPERATIONS[case.name]
    if not all(np.isfinite(a).all() for a in operands):
        return None
    for chosen in sorted(product((True, False), repeat=len(operands)), key=sum, reverse=True):
        inputs = tuple(a for a, one in zip(operands, chosen, strict=True) if one)
        held = [a for a, one in zip(operands, chosen, strict=True) if not one]
        if held and made.operands[0].many:
            continue
        rows = {a.shape[:1] for a in inputs}
        if len(rows) != 1 or rows <= {(), (1,)}:
            continue

        names = [o.name for o, one in zip(made.operands, chosen, strict=False) if not one]
        layer = Operator(
            case.name, settings=case.options, constants=dict(zip(names, held, strict=False))
        )
        types = [TensorType((BATCH, *a.shape[1:]), DType.of(a.dtype)) for a in inputs]
        try:
            return Fitting(case, layer, inputs, checked_types(layer, *types))
        except ShapeError:
            continue
    return None


@cache
def fitting() -> dict[str, Fitting]:
    """For every operation that can be a layer a case that is one."""
    found: dict[str, Fitting] = {}
    for case in (*elementwise.CASES, *arrays.CASES, *models.CASES, *sampling.CASES, *AS_LAYERS):
        one = None if case.name in found else fitted(case)
        if one is not None:
            found[case.name] = one
    for name in ("bernoulli", "multinomial"):
        drawn = fitted(Case(name, (TABLE,), low=0.0, high=1.0))
        assert drawn is not None
        found[name] = drawn
    return found


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_is_a_layer_or_refused_with_a_reason(name: str) -> None:
    if name not in REFUSED:
        one = fitting()[name]
        assert all(found.is_batch for found in one.types)
        assert Operator(one.layer.text).config() == one.layer.config()
        return
    assert name not in fitting()
    options, inputs, reason = REFUSED[name]
    with pytest.raises(ShapeError, match=reason):
        checked_types(Operator(name + options), *map(type_of, inputs))


@pytest.fixture
def on_cpu() -> Iterator[None]:
    """Operations at once run on the CPU, also where there is a graphics card."""
    ops.backend("cpu")
    yield
    ops.close()


def eager(one: Fitting) -> Sequence[np.ndarray]:
    """What the operation gives at once for the same operands."""
    found = getattr(ops, one.case.name)(*one.case.arrays(), **one.case.options)
    return [x.numpy() for x in (found if isinstance(found, tuple) else (found,))]


@pytest.mark.slow
@pytest.mark.parametrize("family", sorted({made.family for made in OPERATIONS.values()}))
def test_a_layer_computes_what_the_operation_gives_at_once(family: str, on_cpu: None) -> None:
    chosen = [
        one for name, one in fitting().items()
        if OPERATIONS[name].family == family and name not in UNLIKE
        and all(a.dtype.kind == "f" or a.dtype == np.int32 for a in one.inputs)
    ]  # fmt: skip
    assert chosen
    # One network for each number of samples, so that few programs are compiled.
    for rows in sorted({one.inputs[0].shape[0] for one in chosen}):
        entries, results, fed, wanted = [], [], [], []
        for one in chosen:
            if one.inputs[0].shape[0] != rows:
                continue
            own = [Input(a.shape[1:], dtype=a.dtype.name) for a in one.inputs]
            made = one.layer(*own)
            results += made if isinstance(made, list) else [made]
            entries += own
            fed += one.inputs
            wanted += eager(one)
        found = Model(entries, results, backend="cpu").predict(fed if len(fed) > 1 else fed[0])
        found = [found] if isinstance(found, np.ndarray) else found
        for got, answer in zip(found, wanted, strict=True):
            assert got.dtype == answer.dtype
            np.testing.assert_allclose(got, answer, 1e-5, 1e-6)
