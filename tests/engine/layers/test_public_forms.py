"""Parameters stand in Keras' layout and order in files and in ``get_weights``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pytest

from studio.engine import Dense, Input, Model, Sequential
from studio.engine.core.discovery import all_or_none
from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import Ref, Shape
from studio.engine.isa.ops.linear import Linear
from studio.engine.layers.context import LayerContext
from studio.engine.layers.initializers import parse_initializer
from studio.engine.layers.layer import Layer, Parameter, PublicForm
from studio.engine.layers.named_parameters import named_parameters
from studio.engine.layers.normalization import BatchNormalization
from studio.engine.layers.weights import to_public, to_stored

FORM = PublicForm((2, 0, 1), (4, 6))
ONES = parse_initializer("ones")


class _TakenOutError(Exception):
    """Makes `all_or_none` take the layers out again."""


def _take_out() -> None:
    raise _TakenOutError


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    with suppress(_TakenOutError), all_or_none():
        yield
        _take_out()


def split_kernel() -> type[Layer]:
    class Split(Layer):
        """Numbers its kernel last, and stores it [2,3,4] where others have [4,6]."""

        category = "core"
        variables = ("kernel", "bias")

        def output_shape(self, *shapes: Shape) -> Shape:
            return (4,)

        def parameters(self, *shapes: Shape) -> tuple[Parameter, ...]:
            return (
                Parameter("count", (1,), ONES, state=True),
                Parameter("bias", (4,), ONES),
                Parameter("extra", (5,), ONES),
                Parameter("kernel", (2, 3, 4), ONES, public=FORM),
            )

        def lower(self, context: LayerContext, *inputs: Ref) -> Ref:
            return context.emit(Linear, w=context.own(*inputs)["bias"], x=inputs[0])

    return Split


def test_stored_values_are_permuted_and_reshaped_and_back() -> None:
    layer = split_kernel()(name="split")
    kernel = layer.parameters((2,))[-1]
    stored = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    public = to_public(layer, kernel, stored)
    assert public.shape == (4, 6)
    assert public.flags.c_contiguous
    for i, j, k in np.ndindex(2, 3, 4):
        assert public[k, i * 3 + j] == stored[i, j, k]
    np.testing.assert_array_equal(to_stored(layer, kernel, public), stored)
    with pytest.raises(ShapeError, match=r"kernel: expected \[4,6\], got \[2,3,4\]"):
        to_stored(layer, kernel, stored)


def test_variables_are_in_the_stated_order_and_statistics_last() -> None:
    network = Sequential([Input((2,)), split_kernel()(name="split")])
    found = [(p.parameter.role, p.public_shape) for p in named_parameters(network.graph)]
    assert found == [("kernel", (4, 6)), ("bias", (4,)), ("extra", (5,)), ("count", (1,))]
    assert [w.shape for w in network.get_weights()] == [shape for _, shape in found]


def test_built_in_layers_have_keras_order() -> None:
    network = Sequential([Input((3,)), Dense(2), BatchNormalization()])
    roles = [p.parameter.role for p in named_parameters(network.graph)]
    assert roles == ["kernel", "bias", "gamma", "beta", "moving_mean", "moving_variance"]
    assert [w.shape for w in network.get_weights()][:2] == [(3, 2), (2,)]


def test_weights_set_in_the_public_form_are_read_back() -> None:
    with Model.of_graph(Sequential([Input((3,)), Dense(2)]).graph, backend="cpu") as model:
        kernel = np.arange(6, dtype=np.float32).reshape(3, 2)
        model.set_weights([kernel, np.zeros(2, np.float32)])
        np.testing.assert_array_equal(model.get_weights()[0], kernel)
        x = np.eye(3, dtype=np.float32)
        np.testing.assert_allclose(model.predict(x), kernel)


def test_a_layer_made_from_dense_with_a_kernel_of_its_own_keeps_its_layout() -> None:
    class Doubled(Dense):
        """As it could be written before there were public forms."""

        def parameters(self, *shapes: Shape) -> tuple[Parameter, ...]:
            return (Parameter("kernel", (self.units, shapes[0][-1]), ONES),)

    network = Sequential([Input((3,)), Doubled(2)])
    assert [w.shape for w in network.get_weights()] == [(3, 2)]


@pytest.mark.parametrize(
    "form",
    [PublicForm((0, 1)), PublicForm((0, 0, 1)), PublicForm((), (5, 5)), PublicForm((0, 1, 3))],
)
def test_a_form_that_does_not_fit_is_refused_where_it_is_stated(form: PublicForm) -> None:
    with pytest.raises(TypeError, match=r"kernel: .* does not fit the shape"):
        Parameter("kernel", (2, 3, 4), ONES, public=form)
