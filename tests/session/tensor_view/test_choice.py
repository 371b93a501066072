"""Which tensor of a layer is looked at when the layer is selected."""

from __future__ import annotations

from dataclasses import replace

import pytest

from studio.engine.compiler.lower import lower
from studio.engine.core.tensor import Tensor
from studio.engine.isa.program import Program
from studio.session.core import entities
from studio.session.tensor_view.choice import TensorChoice, port_of, renamed, tensor_choices
from tests.engine.train.small_tasks import cnn


@pytest.fixture
def program() -> Program:
    return lower(cnn(), "infer")


def tensors_of(program: Program, kind: str) -> list[Tensor]:
    """The tensors of a layer whose name begins so, its output first."""
    own = [t for t in program.tensors.values() if t.name.split("/")[0].startswith(kind)]
    return sorted(own, key=lambda tensor: port_of(tensor) != "output")


def test_weights_come_before_the_output(program: Program) -> None:
    choice = TensorChoice()
    for kind, wanted in (("conv2d", "kernel"), ("dense", "kernel"), ("batch", "gamma")):
        own = tensors_of(program, kind)
        found = choice.of_layer(own, ())
        assert found is not None
        assert found.key.endswith(f"/{wanted}"), kind


def test_a_layer_without_weights_shows_what_it_puts_out(program: Program) -> None:
    found = TensorChoice().of_layer(tensors_of(program, "flatten"), ())
    assert found is not None
    assert found.key.endswith("/output")
    assert TensorChoice().of_layer([], ()) is None


def test_what_was_chosen_of_one_layer_is_shown_of_the_next(program: Program) -> None:
    choice, conv, dense = TensorChoice(), tensors_of(program, "conv"), tensors_of(program, "dense")
    bias = next(tensor for tensor in conv if port_of(tensor) == "bias")
    choice.chosen(entities.tensor(bias.name), bias)
    found = choice.of_layer(dense, ())
    assert found is not None
    assert found.key.endswith("/bias")
    flat = choice.of_layer(tensors_of(program, "flatten"), ())
    assert flat is not None
    assert flat.key.endswith("/output")


def test_a_gradient_is_shown_where_there_is_one(program: Program) -> None:
    choice, conv, dense = TensorChoice(), tensors_of(program, "conv"), tensors_of(program, "dense")
    kernel = next(tensor for tensor in conv if port_of(tensor) == "kernel")
    choice.chosen(entities.tensor(kernel.name, grad=True), kernel)
    other = next(tensor for tensor in dense if port_of(tensor) == "kernel")
    offered = tensor_choices(dense, frozenset({other.id}))
    assert choice.of_layer(dense, offered) == entities.tensor(other.name, grad=True)
    assert choice.of_layer(dense, tensor_choices(dense, frozenset())) == entities.tensor(other.name)


def test_what_is_shown_of_the_layer_stays(program: Program) -> None:
    own = tensors_of(program, "conv")
    now = entities.tensor(own[0].name)
    assert TensorChoice().of_layer(own, (), now) == now
    elsewhere = entities.tensor(tensors_of(program, "dense")[0].name)
    assert TensorChoice().of_layer(own, (), elsewhere) != elsewhere


def test_a_tensor_is_found_again_when_its_layer_is_renamed(program: Program) -> None:
    before = next(t for t in program.tensors.values() if t.name.endswith("conv2d/kernel"))
    assert before.layer
    after = [replace(before, name="first/kernel")]
    now = entities.tensor(before.name, grad=True)
    assert renamed(before, now, after) == entities.tensor("first/kernel", grad=True)
    assert renamed(before, now, []) is None
