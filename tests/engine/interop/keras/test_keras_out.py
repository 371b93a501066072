"""Networks as Keras models: layers in Keras' order, small configs, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from studio.engine.core.errors import FormatError
from studio.engine.interop.keras.dialect_out import Dialect, model_name, model_to_json
from studio.engine.interop.keras.graph_out import keras_from_graph
from studio.engine.layers.graph_json import graph_from_json
from tests.recorded.keras_files.cases import CASES, Document, network

Golden = Callable[[str, str], None]
ORDER = Path(__file__).parents[3] / "recorded" / "keras_files" / "order.json"


@pytest.mark.parametrize("case", CASES)
def test_layers_stand_in_the_order_of_keras(case: str) -> None:
    model = keras_from_graph(graph_from_json(CASES[case]))
    expected = json.loads(ORDER.read_text(encoding="utf-8"))[case]
    assert [layer.name for layer in model.layers] == expected


@pytest.mark.parametrize("dialect", ["keras3", "keras2"])
def test_configs_have_only_what_matters(dialect: Dialect, golden: Golden) -> None:
    lines = []
    for case, document in CASES.items():
        made = model_to_json(keras_from_graph(graph_from_json(document)), dialect)
        config = cast("dict[str, Any]", made.pop("config"))
        layers = config.pop("layers")
        lines += [f"{case}: {json.dumps(made)}", f"  {json.dumps(config)}"]
        lines += [f"    {json.dumps(layer)}" for layer in layers]
    golden(f"interop/{dialect}.txt", "\n".join(lines) + "\n")


def one(kind: str, **config: object) -> Document:
    return network(["layer"], ("x", "Input", {"shape": [4]}, []), ("layer", kind, config, ["x"]))


def test_what_keras_lacks_is_refused_by_name() -> None:
    tied = network(
        ["back"],
        ("x", "Input", {"shape": [4]}, []),
        ("code", "Dense", {"units": 2}, ["x"]),
        ("back", "TiedDense", {"units": 4, "tied_to": "code"}, ["code"]),
    )
    with pytest.raises(FormatError, match="Keras has no layer TiedDense") as refused:
        keras_from_graph(graph_from_json(tied))
    assert refused.value.who == "back"
    assert "gbi" in refused.value.hint
    with pytest.raises(FormatError, match="activation: Keras has no activation 'gelu_tanh'"):
        keras_from_graph(graph_from_json(one("Dense", units=2, activation="gelu_tanh")))


@pytest.mark.parametrize("activation", ["hard_sigmoid", "relu6", "log_softmax"])
def test_what_only_keras_2_lacks_is_refused_in_its_dialect(activation: str) -> None:
    model = keras_from_graph(graph_from_json(one("Activation", activation=activation)))
    assert model_to_json(model, "keras3")["class_name"] == "Functional"
    with pytest.raises(FormatError, match="Keras 2") as refused:
        model_to_json(model, "keras2")
    assert repr(activation) in refused.value.message
    assert "keras" in refused.value.hint


@pytest.mark.parametrize(
    ("given", "expected"),
    [("my net", "my_net"), ("a/b", "a_b"), ("_x", "model_x"), ("größe-1.5", "gr__e-1.5")],
)
def test_names_of_models_are_names_for_tensorflow(given: str, expected: str) -> None:
    assert model_name(given) == expected
