from __future__ import annotations

import json

import pytest

from studio.engine.autodiff.differentiate import differentiate
from studio.engine.compiler.lower import lower
from studio.engine.compiler.lower_augment import Augmentation, Noise, Rotate, Shift, Standardize
from studio.engine.compiler.lower_data import DataSpec, Source
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import CompileError, ParameterError, ShapeError
from studio.engine.core.philox import stream_of
from studio.engine.core.tensor import BATCH, ROWS, Role
from studio.engine.isa.program import Program
from studio.engine.layers.catalog import layer_class
from studio.engine.layers.graph import LayerGraph, Port
from tests.engine.compiler.sample_graphs import add, small_picture_network

DIGITS = Source((8, 8, 1), DType.uint8, (0.0625,), (0.0,))
LABELS = Source((), DType.int32, classes=10)


def names(program: Program, section: str) -> list[str]:
    return [ins.mnemonic for ins in program.section(section)]


def training(**spec: object) -> Program:
    data = DataSpec(**{"inputs": (DIGITS,), "targets": (LABELS,), **spec})
    return lower(small_picture_network(), "train", loss="sparse_categorical_crossentropy",
                 metrics=["accuracy"], data=data)  # fmt: skip


def mlp(units: int, activation: str = "linear", features: int = 3) -> LayerGraph:
    graph = LayerGraph("mlp")
    x = graph.add(layer_class("Input")((features,)))
    graph.outputs = (add(graph, "Dense", x, units, activation),)
    return graph


def test_the_network_input_is_id_0_in_every_mode() -> None:
    data = DataSpec((DIGITS,), (LABELS,))
    for mode in ("train", "evaluate", "infer"):
        program = lower(small_picture_network(), mode, loss="sparse_categorical_crossentropy",
                        data=data)  # fmt: skip
        assert program.tensors[0].name == "input/output"
        assert program.tensors[0].shape == (BATCH, 8, 8, 1)


def test_resident_programs_are_fed_nothing_and_gather_rows() -> None:
    program = training()
    assert program.inputs == ()
    assert names(program, "data") == ["GATHER_BATCH", "NORMALIZE", "GATHER_BATCH"]
    assert program.tensors.named("data/x").type == ((ROWS, 8, 8, 1), DType.uint8)
    assert program.tensors.named("train/order").type == ((ROWS,), DType.int32)
    assert json.loads(program.meta["metrics"]) == ["loss", "accuracy"]
    assert names(program, "metrics") == ["ACCURACY", "RECORD", "ADVANCE"]


def test_evaluation_uses_its_own_block_and_data_but_the_same_parameters() -> None:
    data = DataSpec((DIGITS,), (LABELS,))
    graph = small_picture_network()
    loss = "sparse_categorical_crossentropy"
    train = lower(graph, "train", loss=loss, data=data)
    evaluate = lower(graph, "evaluate", loss=loss, data=data)
    for name in ("eval/x", "eval/y", "eval/order", "eval/step", "eval/ring"):
        assert evaluate.tensors.has_name(name)
    assert not evaluate.tensors.has_name("train/step")
    assert [t.name for t in train.of_role(Role.PARAM)] == [
        t.name for t in evaluate.of_role(Role.PARAM)
    ]


def test_inference_takes_raw_input_and_has_no_dropout() -> None:
    program = lower(small_picture_network(), "infer", data=DataSpec((DIGITS,)))
    (fed,) = program.inputs
    assert program.tensors[fed].type == ((BATCH, 8, 8, 1), DType.uint8)
    assert names(program, "data") == ["NORMALIZE"]
    assert names(program, "forward") == ["CONV2D", "RELU", "FLATTEN", "LINEAR", "SOFTMAX"]
    assert program.section("loss") == ()


def test_float_input_without_normalisation_is_fed_straight_in() -> None:
    program = lower(mlp(2), "infer")
    assert program.inputs == (0,)
    assert program.tensors[0].role is Role.INPUT


def test_batch_normalisation_is_frozen_outside_training_and_when_not_trainable() -> None:
    graph = LayerGraph("bn")
    x = graph.add(layer_class("Input")((4,)))
    x = add(graph, "BatchNormalization", x)
    graph.outputs = (add(graph, "BatchNormalization", x, trainable=False),)
    train = lower(graph, "train", loss="mse").section("forward")
    assert [ins.value("frozen") for ins in train] == [False, True]
    evaluate = lower(graph, "evaluate", loss="mse").section("forward")
    assert [ins.value("frozen") for ins in evaluate] == [True, True]
    roles = {t.name: (t.role, t.trainable) for t in lower(graph, "infer").tensors.values()}
    assert roles["batch_normalization/gamma"] == (Role.PARAM, True)
    assert roles["batch_normalization_1/gamma"] == (Role.PARAM, False)
    assert roles["batch_normalization/moving_mean"] == (Role.STATE, False)


@pytest.mark.parametrize(
    ("loss", "activation", "softmax", "source"),
    [
        ("categorical_crossentropy", "softmax", "SOFTMAX_CE", "softmax"),
        ("sparse_categorical_crossentropy", "softmax", "SOFTMAX_CE", "softmax"),
        ({"type": "CategoricalCrossentropy", "config": {"from_logits": True}}, "softmax",
         "SOFTMAX", "logits"),
        ("mse", "softmax", "SOFTMAX", None),
        ("categorical_crossentropy", "sigmoid", "SIGMOID", "probs"),
    ],
)  # fmt: skip
def test_softmax_joins_the_cross_entropy_behind_it(
    loss: object, activation: str, softmax: str, source: str | None
) -> None:
    program = lower(mlp(4, activation), "train", loss=loss)
    assert names(program, "forward") == ["LINEAR", softmax]
    if source:
        assert program.section("loss")[0].value("source") == source


def test_a_softmax_that_something_else_reads_stays_a_softmax() -> None:
    graph = mlp(4, "softmax")
    add(graph, "Dense", graph.outputs[0], 2)
    program = lower(graph, "train", loss="categorical_crossentropy")
    assert "SOFTMAX" in names(program, "forward")
    assert program.section("loss")[0].value("source") == "probs"


def test_targets_are_brought_to_the_form_of_the_loss() -> None:
    def steps(loss: str, units: int, target: Source) -> list[str]:
        data = DataSpec((Source((3,)),), (target,))
        return names(lower(mlp(units), "train", loss=loss, data=data), "data")[1:]

    assert steps("categorical_crossentropy", 4, Source((), DType.int32)) == [
        "GATHER_BATCH", "ONE_HOT",
    ]  # fmt: skip
    assert steps("sparse_categorical_crossentropy", 4, Source((4,))) == ["GATHER_BATCH", "ARGMAX"]
    assert steps("binary_crossentropy", 1, Source((), DType.int32)) == [
        "GATHER_BATCH", "CAST", "RESHAPE",
    ]  # fmt: skip
    assert steps("mse", 2, Source((2,))) == ["GATHER_BATCH"]
    assert steps("sparse_categorical_crossentropy", 4, Source((), DType.uint8)) == [
        "GATHER_BATCH", "CAST",
    ]  # fmt: skip


def test_class_and_sample_weights_reach_the_loss() -> None:
    program = training(class_weights=((1.0,) * 10,), sample_weights=((),))
    assert names(program, "data")[-3:] == ["TAKE", "GATHER_BATCH", "MUL"]
    (loss,) = program.section("loss")
    assert loss.ref("weights").present
    assert program.tensor(loss.ref("weights")).shape == (BATCH,)


@pytest.mark.parametrize(
    ("loss", "units", "target", "steps"),
    [
        ("categorical_crossentropy", 4, Source((4,)), ["ARGMAX", "TAKE"]),
        ("binary_crossentropy", 1, Source((1,)), ["CAST", "RESHAPE", "TAKE"]),
    ],
)
def test_class_weights_find_the_class_in_rows(
    loss: str, units: int, target: Source, steps: list[str]
) -> None:
    data = DataSpec((Source((3,)),), (target,), class_weights=((1.0, 2.0),))
    program = lower(mlp(units), "train", loss=loss, data=data)
    assert names(program, "data")[2:] == steps


def test_random_augmentation_is_in_training_only_and_keyed_by_its_role() -> None:
    spec = DataSpec((DIGITS,), (LABELS,), augment=(
        Standardize(moments=True), Shift(rows=2), Rotate(degrees=5.0), Shift(), Noise(),
    ))  # fmt: skip
    train = lower(small_picture_network(), "train", loss="sparse_categorical_crossentropy",
                  data=spec)  # fmt: skip
    drawn = [i for i in train.section("data") if i.mnemonic.startswith("AUGMENT")]
    assert [i.mnemonic for i in drawn] == [
        "AUGMENT_STANDARDIZE", "AUGMENT_SHIFT", "AUGMENT_ROTATE", "AUGMENT_SHIFT", "AUGMENT_NOISE",
    ]  # fmt: skip
    assert drawn[1].value("stream") == stream_of("data/shift")
    assert drawn[3].value("stream") == stream_of("data/shift_2")
    infer = lower(small_picture_network(), "infer", data=spec)
    assert names(infer, "data") == ["NORMALIZE", "AUGMENT_STANDARDIZE"]


def test_augmentation_goes_to_json_and_back() -> None:
    for given in (Shift(rows=2, fill=0.5), Standardize(moments=True)):
        assert Augmentation.from_json(given.to_json()) == given
    with pytest.raises(ParameterError, match="unknown augmentation"):
        Augmentation.resolve("blur")


def test_dropout_streams_come_from_the_node_id_not_its_place() -> None:
    streams = []
    for extra in (False, True):
        graph = LayerGraph("d")
        x = graph.add(layer_class("Input")((4,)))
        x = add(graph, "Activation", x, "tanh") if extra else x
        graph.outputs = (add(graph, "Dropout", x, 0.5, name="drop"),)
        streams.append(lower(graph, "train", loss="mse").section("forward")[-1].value("stream"))
    assert streams == [stream_of("drop/mask")] * 2


def test_shared_layers_have_one_set_of_parameters_and_summed_gradients() -> None:
    graph = LayerGraph("twins")
    first, second = (graph.add(layer_class("Input")((3,), name=n)) for n in ("left", "right"))
    shared = layer_class("Dense")(2, kernel_regularizer="l2(0.1)")
    outputs = [graph.add(shared, x) for x in (first, second)]
    graph.outputs = (graph.add(layer_class("Add")(), *outputs),)
    program = lower(graph, "train", loss="mse")
    assert [t.name for t in program.of_role(Role.PARAM)] == ["dense/kernel", "dense/bias"]
    assert names(program, "loss") == ["LOSS_MSE", "LOSS_L1L2", "ADD"]
    assert names(differentiate(program), "backward").count("GRADS_LINEAR") == 2


def test_several_outputs_have_a_loss_each_and_a_weighted_total() -> None:
    graph = mlp(4, "softmax")
    graph.outputs = (*graph.outputs, add(graph, "Dense", Port("input"), 1, name="size"))
    program = lower(
        graph,
        "train",
        loss=["sparse_categorical_crossentropy", "mse"],
        metrics={"dense": ["accuracy"], "size": ["mae"]},
        loss_weights=[1.0, 0.5],
    )
    assert json.loads(program.meta["metrics"]) == [
        "loss", "dense_loss", "size_loss", "dense_accuracy", "size_mean_absolute_error",
    ]  # fmt: skip
    total = program.section("loss")[-1]
    assert (total.mnemonic, total.value("alpha"), total.value("beta")) == ("ADD", 1.0, 0.5)


def test_metrics_that_do_not_fit_the_targets_are_named() -> None:
    with pytest.raises(ParameterError, match="categorical_accuracy does not fit"):
        lower(mlp(4), "train", loss="sparse_categorical_crossentropy",
              metrics=["categorical_accuracy"])  # fmt: skip


def test_penalties_belong_to_their_layer_and_skip_frozen_ones() -> None:
    graph = small_picture_network(kernel_regularizer="l2(0.5)", name="conv1")
    program = lower(graph, "train", loss="sparse_categorical_crossentropy")
    assert program.section("loss")[1].owners == ("conv1",)
    graph.layer("conv1").trainable = False
    frozen = lower(graph, "train", loss="sparse_categorical_crossentropy")
    assert names(frozen, "loss") == ["LOSS_SPARSE_CE"]


def test_errors_name_the_layer_and_say_what_fits() -> None:
    wrong = DataSpec((Source((64,)),), (LABELS,))
    with pytest.raises(ShapeError, match=r"\[input\] expected samples \[8,8,1\], got \[64\]"):
        lower(small_picture_network(), "train", loss="sparse_categorical_crossentropy", data=wrong)
    many = DataSpec((DIGITS,), (Source((), DType.int32, classes=12),))
    with pytest.raises(ShapeError, match=r"\[dense\] expected at least 12 outputs .* got 10"):
        lower(small_picture_network(), "train", loss="sparse_categorical_crossentropy", data=many)
    data = DataSpec((Source((3,)),), (Source((2,)),))
    with pytest.raises(ShapeError, match=r"\[dense\] expected targets \[4\] or class indices"):
        lower(mlp(4), "train", loss="mse", data=data)
    with pytest.raises(ShapeError, match=r"\[augmentation\] flip: expected images"):
        lower(mlp(4), "train", loss="mse", data=DataSpec(
            (Source((3,)),), (Source((4,)),), augment=(Augmentation.resolve("flip"),)))  # fmt: skip
    with pytest.raises(CompileError, match="a loss is needed"):
        lower(mlp(4), "train")
    with pytest.raises(CompileError, match="expected a mode"):
        lower(mlp(4), "predict")
