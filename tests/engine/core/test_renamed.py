from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module

import pytest

from studio.engine import Input, Sequential
from studio.engine.core.discovery import all_or_none
from studio.engine.core.renamed import RENAMED
from studio.engine.core.tensor import Ref, Shape
from studio.engine.formats import checkpoint
from studio.engine.interop import reading
from studio.engine.isa.ops.linear import Linear
from studio.engine.layers import named_parameters
from studio.engine.layers.activation_layers import Softmax
from studio.engine.layers.context import LayerContext
from studio.engine.layers.dense import Dense
from studio.engine.layers.initializers import parse_initializer
from studio.engine.layers.layer import Layer, Parameter
from studio.engine.optim import optimizers
from studio.engine.optim.losses import BinaryCrossentropy, CategoricalCrossentropy
from studio.engine.train import checkpoint as old_checkpoint
from studio.engine.train import settings, weight_files, weights
from studio.engine.train import step_log as old_step_log
from studio.engine.train.callbacks.callback import ProjectCallback
from studio.engine.train.export import importing as old_importing
from studio.engine.train.importing import weights as importing
from studio.engine.train.runs import step_log


def made_layer() -> Sequential:
    """A network with a layer of the last release, which is taken out again."""
    with suppress(_TakenOutError), all_or_none():

        class Turned(Layer):
            """A layer that stores its kernel transposed."""

            category = "core"
            transposed = frozenset({"kernel"})

            def parameters(self, *shapes: Shape) -> tuple[Parameter, ...]:
                return (Parameter("kernel", (2, *shapes[0]), parse_initializer("ones")),)

            def lower(self, context: LayerContext, *inputs: Ref) -> Ref:
                return context.emit(Linear, w=context.own(*inputs)["kernel"], x=inputs[0])

            def output_shape(self, *shapes: Shape) -> Shape:
                return (2,)

        network = Sequential([Input((3,)), Turned()])
        _take_out()
    return network


class _TakenOutError(Exception):
    """Makes `all_or_none` take the layer out again."""


def _take_out() -> None:
    raise _TakenOutError


USES: dict[str, Callable[[], object]] = {
    "Layer.ends_in_softmax": lambda: [
        Dense(2, "softmax").ends_in_softmax(2), Dense(2).ends_in_softmax(2),
        Softmax(1).ends_in_softmax(3),
    ],
    "Layer.transposed": lambda: made_layer().get_weights()[0].shape,
    "Loss.cross_entropy": lambda: [
        CategoricalCrossentropy().cross_entropy, BinaryCrossentropy().cross_entropy,
    ],
    "Model.compile(optimizer, loss, metrics, loss_weights)": lambda: (
        Sequential([Input((2,)), Dense(1)]).compile("sgd", "mse", ["mae"])
    ),
    "studio.engine.optim.optimizers.Rule": lambda: optimizers.Rule,
    "studio.engine.train.checkpoint.Checkpoint": lambda: old_checkpoint.Checkpoint,
    "studio.engine.train.checkpoint.Position": lambda: old_checkpoint.Position,
    "studio.engine.train.export.importing.IMPORT_FORMATS": lambda: old_importing.IMPORT_FORMATS,
    "studio.engine.train.export.importing.import_weights": lambda: old_importing.import_weights,
    "studio.engine.train.step_log.read_steps": lambda: old_step_log.read_steps,
    "studio.engine.train.weight_files.load_weights": lambda: weight_files.load_weights,
    "studio.engine.train.weights.public_weights": lambda: weights.public_weights,
    "studio.engine.train.weights.stored_weights": lambda: weights.stored_weights,
    "studio.engine.train.settings.CALLBACKS": lambda: settings.CALLBACKS,
}  # fmt: skip

ANSWERS = {
    "Layer.ends_in_softmax": [True, False, False],
    "Layer.transposed": (3, 2),
    "Loss.cross_entropy": [True, False],
    "Model.compile(optimizer, loss, metrics, loss_weights)": None,
    "studio.engine.optim.optimizers.Rule": optimizers.UpdateRule,
    "studio.engine.train.checkpoint.Checkpoint": checkpoint.Checkpoint,
    "studio.engine.train.checkpoint.Position": checkpoint.Position,
    "studio.engine.train.export.importing.IMPORT_FORMATS": reading.import_endings(),
    "studio.engine.train.export.importing.import_weights": importing.import_weights,
    "studio.engine.train.step_log.read_steps": step_log.read_steps,
    "studio.engine.train.weight_files.load_weights": reading.load_weights,
    "studio.engine.train.weights.public_weights": named_parameters.public_weights,
    "studio.engine.train.weights.stored_weights": named_parameters.stored_weights,
    "studio.engine.train.settings.CALLBACKS": tuple(ProjectCallback.members.values()),
}


@pytest.mark.parametrize("old", RENAMED)
def test_an_old_name_works_and_warns(old: str) -> None:
    said = re.escape(f"{old} is now {RENAMED[old]}; the old")
    with pytest.warns(DeprecationWarning, match=said) as heard:
        assert USES[old]() == ANSWERS[old]
    # The warning names the line that has to change.
    assert {each.filename for each in heard} == {__file__}


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'CALLBACK'"):
        import_module("studio.engine.train.settings").CALLBACK  # noqa: B018
