"""Networks with operators: gradients, training, modes, masks, lengths, sharing and files."""

from __future__ import annotations

import json

import numpy as np
import pytest

from studio.engine import SGD, Dense, Dropout, Input, Masking, Model, Operator, execute
from studio.engine.compiler.lower import lower
from studio.engine.core.errors import FormatError, GraphError, ShapeError
from studio.engine.isa.ops.random import RandomUniform
from studio.engine.layers.graph_json import graph_from_json, graph_to_json
from studio.engine.layers.summary import summarize

DEVICES = ("cpu", pytest.param("gl", marks=pytest.mark.gl))
RNG = np.random.default_rng(5)
X = RNG.uniform(-1, 1, (6, 4))
Y = RNG.uniform(-1, 1, (6, 2))


def network(backend: str = "cpu") -> Model:
    """Eleven operators between two layers with weights."""
    x = Input((4,), name="x")
    h = Dense(6, name="first")(x)
    waves = Operator("sin")(h)
    apart = h * 0.5 - waves
    ratio = apart / (Operator("var", axis=-1, keepdims=True)(apart) + 1)
    chosen = Operator("gather", axis=-1, indices=[5, 0, 0])(ratio)
    middle, spread = Operator("moments", axis=-1, keepdims=True)(chosen)
    total = Operator("logsumexp", axis=-1, keepdims=True)(waves)
    joined = Operator("concatenate")(ratio, middle, spread, total)
    model = Model(x, Dense(2, name="last")(Operator("softplus")(joined)), backend=backend, seed=3)
    assert sum(isinstance(layer, Operator) for layer in model.layers) == 11
    return model


def loss_of(weights: list[np.ndarray]) -> float:
    """The mean squared error of the network in plain NumPy."""
    kernel, bias, last, last_bias = weights
    h = X @ kernel + bias
    waves = np.sin(h)
    apart = 0.5 * h - waves
    ratio = apart / (apart.var(-1, keepdims=True) + 1)
    chosen = ratio[:, [5, 0, 0]]
    total = np.log(np.exp(waves).sum(-1, keepdims=True))
    joined = np.concatenate(
        [ratio, chosen.mean(-1, keepdims=True), chosen.var(-1, keepdims=True), total], -1
    )
    found = np.log1p(np.exp(joined)) @ last + last_bias
    return float(((found - Y) ** 2).mean())


@pytest.mark.slow
@pytest.mark.parametrize("backend", DEVICES)
def test_gradients_agree_with_finite_differences_and_train(backend: str, tmp_path) -> None:
    rows, targets = X.astype(np.float32), Y.astype(np.float32)
    with network(backend) as model:
        before = [w.astype(np.float64) for w in model.get_weights()]
        model.compile(SGD(0.125), "mse")
        model.fit(rows, targets, epochs=1, batch_size=6)
        slopes = [(b - a) / 0.125 for b, a in zip(before, model.get_weights(), strict=True)]
        model.fit(rows, targets, epochs=60, batch_size=6)
        after = [w.astype(np.float64) for w in model.get_weights()]
        found = model.predict(rows)
        model.save(tmp_path / "net.glassbox")
    assert loss_of(after) < 0.7 * loss_of(before)
    with Model.load(tmp_path / "net.glassbox", backend="cpu") as again:
        np.testing.assert_allclose(again.predict(rows), found, 1e-5, 1e-6)
    for which, slope in enumerate(slopes):
        wanted = np.zeros_like(slope)
        for place in np.ndindex(*slope.shape):
            sides = []
            for sign in (1, -1):
                moved = [w.copy() for w in before]
                moved[which][place] += sign * 1e-5
                sides.append(loss_of(moved))
            wanted[place] = (sides[0] - sides[1]) / 2e-5
        np.testing.assert_allclose(slope, wanted, 1e-4, 4e-6)


@pytest.mark.slow
def test_an_instruction_file_gives_the_same(tmp_path) -> None:
    with network() as model:
        model.export(tmp_path / "net.gbi")
        wanted = model.predict(X.astype(np.float32))
    found = execute(tmp_path / "net.gbi", X.astype(np.float32))
    np.testing.assert_allclose(found, wanted, 1e-6, 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["keras", "tfjs"])
def test_keras_forms_refuse_it_by_name(form: str, tmp_path) -> None:
    x = Input((4,), name="x")
    with Model(x, Dense(2)(Operator("sin")(x))) as model, pytest.raises(FormatError) as caught:
        model.export(tmp_path / f"net.{form}", format=form)
    assert caught.value.who == "sin"
    assert "none for the operation sin" in caught.value.message


@pytest.mark.peers
def test_onnx_runtime_gives_the_same(tmp_path) -> None:
    import onnxruntime

    with network() as model:
        model.export(tmp_path / "net.onnx")
        wanted = model.predict(X.astype(np.float32))
    runner = onnxruntime.InferenceSession(str(tmp_path / "net.onnx"))
    (found,) = runner.run(None, {runner.get_inputs()[0].name: X.astype(np.float32)})
    np.testing.assert_allclose(found, wanted, 1e-5, 1e-6)


def lines(model: Model, mode: str) -> list[str]:
    program = lower(model.graph, mode, loss=None if mode == "infer" else "mse")
    return [ins.mnemonic for ins in program.sections.get("forward", ())]


def test_lines_stand_under_the_name_of_their_layer() -> None:
    x = Input((4,), name="x")
    model = Model(x, Operator("var", axis=-1, name="width")(x))
    program = lower(model.graph, "infer")
    forward = program.sections["forward"]
    assert [ins.mnemonic for ins in forward] == ["REDUCE_MEAN", "ADD", "MUL", "REDUCE_MEAN"]
    assert {ins.owners for ins in forward} == {("width",)}
    output = program.tensors[program.outputs[0]]
    assert (output.name, output.layer, output.port) == ("width/output", "width", "output")


def test_several_results_are_named_after_their_ports() -> None:
    x = Input((4,), name="x")
    program = lower(Model(x, Operator("top_k", k=2, name="best")(x)).graph, "infer")
    found = [program.tensors[i] for i in program.outputs]
    assert [(t.name, t.port) for t in found] == [
        ("best/output", "output"), ("best/output_1", "output_1"),
    ]  # fmt: skip


def test_dropout_drops_in_training_only() -> None:
    x = Input((4,), name="x")
    model = Model(x, Operator("dropout", rate=0.5)(x))
    assert lines(model, "train") == ["DROPOUT"]
    assert lines(model, "evaluate") == lines(model, "infer") == []
    plain = Model(x, Dropout(0.5)(x))
    streams = [
        next(ins for ins in lower(m.graph, "train", loss="mse").sections["forward"]).stream
        for m in (model, plain)
    ]
    assert streams[0] != streams[1]


@pytest.mark.slow
def test_draws_of_a_prediction_are_the_same_each_time() -> None:
    x = Input((500,), name="x")
    first, second = Operator("bernoulli")(x), Operator("bernoulli")(x)
    with Model(x, [first, second], backend="cpu") as model:
        shares = np.full((4, 500), 0.3, np.float32)
        once, again = model.predict(shares), model.predict(shares)
    for found, same in zip(once, again, strict=True):
        assert abs(found.mean() - 0.3) < 0.05
        np.testing.assert_array_equal(found, same)
    assert (once[0] != once[1]).any()
    program = lower(model.graph, "train", loss="mse")
    draws = [i for i in program.sections["forward"] if isinstance(i, RandomUniform)]
    assert program.tensors[draws[0].step.id].role.name == "STEP"


def test_masks_go_through_element_by_element() -> None:
    x = Masking()(Input((5, 3), name="x"))
    assert (x * 2).mask == x.mask
    assert (x + Operator("sin")(x)).mask == x.mask
    with pytest.warns(UserWarning, match="does not support masking"):
        assert Operator("sum", axis=-1)(x).mask is None
    with pytest.warns(UserWarning, match="does not support masking"):
        assert Operator("flip", axis=1)(x).mask is None
    model = Model(x.call.inputs[0], x * 2 + Operator("tanh")(x))
    program = lower(model.graph, "infer", masks=True)
    assert [str(program.tensors[i].type) for i in program.outputs] == ["bool[N,5]"]


def test_unknown_lengths_stay_unknown() -> None:
    x = Input((None, 3), name="x")
    kept = Operator("cumsum", axis=1)(x * 2)
    assert kept.shape == (None, 3)
    assert Operator("mean", axis=1)(kept).shape == (3,)
    with pytest.raises(ShapeError, match="element count"):
        Operator("reshape", shape=(-1, 30))(x)


@pytest.mark.slow
def test_constants_of_other_lengths_are_not_mixed_up() -> None:
    x = Input((None, None), name="x")
    with Model(x, Operator("tril")(x), backend="cpu") as model:
        for size in (3, 5, 3):
            values = np.ones((2, size, size), np.float32)
            np.testing.assert_array_equal(model.predict(values), np.tril(values))


def test_a_shared_operator_stands_at_several_nodes() -> None:
    a, b = Input((3,), name="a"), Input((4,), name="b")
    width = Operator("std", axis=-1, keepdims=True, name="width")
    model = Model([a, b], width(a) + width(b))
    document = graph_to_json(model.graph)
    assert [node.get("shares") for node in document["nodes"]].count("width") == 1
    again = graph_from_json(json.loads(json.dumps(document)))
    assert graph_to_json(again) == document
    assert again.types() == model.graph.types()


def test_a_number_makes_a_copy_of_the_layer() -> None:
    x = Input((3,), name="x")
    less = Operator("subtract", name="less")
    one, two = less(1.0, x), less(x, 2.0)
    assert one.layer.constants == {"a": 1.0}
    assert two.layer.constants == {"b": 2.0}
    assert less.constants == {}
    with pytest.raises(GraphError, match="layer names must be unique"):
        Model(x, [one, two])


def test_unconnected_operands_are_refused() -> None:
    graph = Model(x := Input((3,), name="x"), x * x).graph
    graph.connect("multiply", "x")
    with pytest.raises(GraphError, match="expected 2 connected inputs, got 1"):
        graph.check()


def test_summary_names_the_operations() -> None:
    x = Input((3,), name="x")
    rows = summarize(Model(x, Operator("moments", axis=-1)(x)).graph).rows
    assert [(row.name, row.kind) for row in rows] == [("x", "Input"), ("moments", "Operator")]
    assert [found.sample for found in rows[1].outputs] == [(), ()]
