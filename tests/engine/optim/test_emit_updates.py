from __future__ import annotations

import pytest

from studio.engine.autodiff.differentiate import differentiate
from studio.engine.compiler.lower import lower
from studio.engine.core.errors import CompileError
from studio.engine.core.tensor import Role
from studio.engine.isa.program import Program
from studio.engine.layers.catalog import layer_class
from studio.engine.layers.graph import LayerGraph
from studio.engine.optim.emit_updates import emit_updates, trained_parameters
from studio.engine.optim.optimizers import Optimizer


def program(frozen: bool = False) -> Program:
    graph = LayerGraph("two")
    x = graph.add(layer_class("Input")((3,)))
    x = graph.add(layer_class("Dense")(4, trainable=not frozen, name="first"), x)
    x = graph.add(layer_class("BatchNormalization")(name="bn"), x)
    graph.outputs = (graph.add(layer_class("Dense")(2, use_bias=False, name="last"), x),)
    return differentiate(lower(graph, "train", loss="mse"))


def lines(found: Program) -> list[str]:
    return [ins.mnemonic for ins in found.section("update")]


@pytest.mark.parametrize(
    ("optimizer", "mnemonic", "slots"),
    [
        ({"type": "SGD"}, "UPDATE_SGD", ()),
        ({"type": "SGD", "config": {"momentum": 0.9}}, "UPDATE_MOMENTUM", ("m",)),
        ({"type": "RMSprop"}, "UPDATE_RMSPROP", ("v",)),
        ({"type": "RMSprop", "config": {"momentum": 0.9, "centered": True}}, "UPDATE_RMSPROP",
         ("v", "m", "a")),
        ({"type": "Adam"}, "UPDATE_ADAM", ("m", "v")),
        ({"type": "Adam", "config": {"amsgrad": True}}, "UPDATE_ADAM", ("m", "v", "vmax")),
        ({"type": "Adagrad"}, "UPDATE_ADAGRAD", ("a",)),
        ({"type": "Adadelta"}, "UPDATE_ADADELTA", ("a", "u")),
        ({"type": "Adamax"}, "UPDATE_ADAMAX", ("m", "u")),
    ],
)  # fmt: skip
def test_each_parameter_gets_one_update_and_its_slots(
    optimizer: object, mnemonic: str, slots: tuple[str, ...]
) -> None:
    before = program()
    found = emit_updates(before, Optimizer.from_json(optimizer))
    names = ["first/kernel", "first/bias", "bn/gamma", "bn/beta", "last/kernel"]
    assert lines(found) == ["BEGIN_UPDATE", *[mnemonic] * len(names)]
    assert [found.tensor(i.ref("w")).name for i in found.section("update")[1:]] == names
    made = {t.name: t.shape for t in found.of_role(Role.SLOT)}
    assert made == {f"{n}/{s}": found.tensors.named(n).shape for n in names for s in slots}
    assert found.tensors.named("train/rates").shape == (256,)
    assert all(t.id >= before.next_id() for t in found.of_role(Role.SLOT))


def test_adagrad_says_how_its_slots_begin() -> None:
    found = emit_updates(program(), Optimizer.resolve("adagrad"))
    assert {t.init for t in found.of_role(Role.SLOT)} == {"constant(0.1)"}


def test_clips_stand_between_the_count_and_the_updates() -> None:
    def with_clip(**config: float) -> list[str]:
        return lines(
            emit_updates(program(), Optimizer.from_json({"type": "SGD", "config": config}))
        )

    updates = ["UPDATE_SGD"] * 5
    assert with_clip(clipvalue=1.0) == ["BEGIN_UPDATE", *["CLIP_VALUE"] * 5, *updates]
    assert with_clip(global_clipnorm=1.0) == [
        "BEGIN_UPDATE", "GLOBAL_NORM", *["CLIP_NORM"] * 5, *updates,
    ]  # fmt: skip
    assert with_clip(clipnorm=1.0) == [
        "BEGIN_UPDATE", *["GLOBAL_NORM", "CLIP_NORM"] * 5, *updates,
    ]  # fmt: skip


def test_decay_is_on_everything_and_shrinkage_on_weights_only() -> None:
    found = emit_updates(
        program(), Optimizer.from_json({"type": "AdamW", "config": {"shrink": 0.5}})
    )
    updates = found.section("update")[1:]
    assert {round(i.value("decay"), 6) for i in updates} == {0.004}
    shrunk = {found.tensor(i.ref("w")).name for i in updates if i.value("shrink")}
    assert shrunk == {"first/kernel", "bn/gamma", "last/kernel"}
    every = emit_updates(
        program(), Optimizer.from_json({"type": "RMSprop", "config": {"shrink": 0.5}})
    )
    assert all(i.value("shrink") == 0.5 for i in every.section("update")[1:])


def test_frozen_layers_are_left_alone() -> None:
    assert [t.name for t in trained_parameters(program(frozen=True))] == [
        "bn/gamma", "bn/beta", "last/kernel",
    ]  # fmt: skip


def test_programs_without_gradients_or_with_updates_are_refused() -> None:
    once = emit_updates(program(), Optimizer.resolve("sgd"))
    with pytest.raises(CompileError, match="an update section already"):
        emit_updates(once, Optimizer.resolve("sgd"))
    graph = LayerGraph("none")
    graph.outputs = (graph.add(layer_class("Input")((3,))),)
    with pytest.raises(CompileError, match="no trainable parameter"):
        emit_updates(differentiate(lower(graph, "train", loss="mse")), Optimizer.resolve("sgd"))
