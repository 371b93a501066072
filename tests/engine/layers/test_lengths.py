"""Unknown lengths: what layers report, which networks are refused, and networks with numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from studio.engine import (
    Add,
    BatchNormalization,
    Concatenate,
    Conv2D,
    Dense,
    Dropout,
    Flatten,
    GlobalAveragePooling2D,
    Input,
    Masking,
    MaxPooling2D,
    Model,
    Project,
    Rescaling,
    Sequential,
)
from studio.engine.compiler.lower import lower
from studio.engine.core.errors import (
    CompileError,
    FormatError,
    GraphError,
    ParameterError,
    ShapeError,
)
from studio.engine.layers.shaping import Reshape, ZeroPadding2D
from studio.engine.layers.symbol import Symbol


def tokens() -> Symbol:
    return Input((None, 4), name="tokens")


def images() -> Symbol:
    return Input((None, None, 3), name="image")


def sequences(kernel: int = 3) -> Model:
    """[None, 4] by a convolution over the steps and a global mean to two numbers."""
    x = tokens()
    y = Conv2D(6, (kernel, 1), activation="relu", name="conv")(Reshape((-1, 1, 4))(x))
    return Model(x, Dense(2, name="head")(GlobalAveragePooling2D()(y)), name="sequences")


def test_layers_report_which_lengths_are_unknown() -> None:
    x, image = tokens(), images()
    assert x.shape == (None, 4)
    assert repr(x) == "<output [N, None, 4] of tokens>"
    assert Dense(5)(x).shape == (None, 5)
    assert Dropout(0.5)(Rescaling(2.0)(x)).shape == (None, 4)
    assert BatchNormalization()(x).shape == Add()([x, x]).shape == (None, 4)
    assert Concatenate()([x, Dense(3)(x)]).shape == (None, 7)
    assert Concatenate(axis=1)([x, x]).shape == (None, 4)
    assert Reshape((-1, 2))(x).shape == (None, 2)
    assert Flatten()(x).shape == (None,)
    assert Conv2D(6, 3)(image).shape == (None, None, 6)
    assert MaxPooling2D()(ZeroPadding2D(1)(image)).shape == (None, None, 3)
    assert GlobalAveragePooling2D()(image).shape == (3,)
    assert GlobalAveragePooling2D(keepdims=True)(image).shape == (1, 1, 3)
    assert Input((None, 8, 3), name="wide").shape == (None, 8, 3)
    assert Conv2D(1, 3)(Input((None, 8, 3), name="tall")).shape == (None, 6, 1)
    assert Masking()(x).mask is not None


def test_the_summary_shows_none() -> None:
    text = sequences().summary()
    assert "[N, None, 4]" in text
    assert "[N, None, 1, 6]" in text
    assert "960" not in text
    assert sequences().count_params() == 3 * 4 * 6 + 6 + 6 * 2 + 2


def test_weights_that_would_depend_on_a_length_are_refused() -> None:
    refused = (
        r"\[head\] its kernel .* unknown length of the input 'tokens' \[None,4\] \(dimension 1\)"
    )
    with pytest.raises(GraphError, match=refused) as caught:
        Dense(3, name="head")(Flatten()(tokens()))
    assert "global pooling" in caught.value.hint
    with pytest.raises(
        GraphError, match=r"\[mixed\] its kernel .* 'x' \[8,8,None\] \(dimension 3\)"
    ):
        Conv2D(4, 3, name="mixed")(Input((8, 8, None), name="x"))


def test_a_network_of_a_file_is_refused_as_one_from_python() -> None:
    graph = Sequential([Input((5, 4), name="tokens"), Flatten(), Dense(3, name="head")]).graph
    document = Project("refused", graph).to_json()
    text = json.dumps(document).replace("[5, 4]", "[null, 4]")
    with pytest.raises(GraphError, match=r"\[head\] its kernel"):
        Project.from_json(json.loads(text)).graph.check()


def test_numbers_take_the_place_of_unknown_lengths() -> None:
    graph = sequences().graph
    bound = graph.bound((7,))
    assert not bound.has_unknown_lengths
    assert bound.shapes()["conv"] == (5, 1, 6)
    assert list(bound.nodes) == list(graph.nodes)
    assert bound.layer("conv") is graph.layer("conv")
    assert graph.has_unknown_lengths
    assert graph.lengths_of([(12, 4)]) == (12,)
    assert graph.lengths_named({"tokens": 32}) == (32,)
    image = images()
    pictures = Model(image, GlobalAveragePooling2D()(Conv2D(2, 3)(image))).graph
    assert pictures.lengths_named({"image": (8, 10)}) == (8, 10)
    assert pictures.bound((8, 10)).shapes()["conv2d"] == (6, 8, 2)
    with pytest.raises(ShapeError, match=r"\[image\] expected 2 whole numbers .*got 8"):
        pictures.lengths_named({"image": 8})


def test_lengths_that_a_layer_cannot_work_with_are_named() -> None:
    with pytest.raises(ShapeError, match=r"\[conv\] .* at least 5 rows .* 'tokens' \[3,4\]"):
        sequences(kernel=5).graph.bound((3,))
    a, b = Input((None, 2), name="a"), Input((None, 2), name="b")
    both = Model([a, b], GlobalAveragePooling2D()(Reshape((-1, 1, 2))(Add(name="sum")([a, b]))))
    with pytest.raises(ShapeError, match=r"\[sum\] .*'a' \[5,2\] and 'b' \[6,2\]"):
        both.graph.bound(both.graph.lengths_of([(5, 2), (6, 2)]))
    assert both.graph.bound((5, 5)).shapes()["sum"] == (5, 2)


def test_huge_lengths_are_refused_by_the_layer_that_would_be_too_large() -> None:
    with pytest.raises(
        GraphError, match=r"\[tokens\] expected an output of 1 to .*\[2147483647,4\]"
    ):
        sequences().graph.bound((2**31 - 1,))
    with pytest.raises(ShapeError, match="expected a number for the input"):
        sequences().graph.lengths_named({"tokens": 10**30})
    with pytest.raises(GraphError, match="expected 1 lengths, got 2"):
        sequences().graph.bound((3, 4))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "expected a number for the input"),
        ({"tokens": 0}, "got 0"),
        ({"tokens": True}, "got True"),
        ({"tokens": (3, 4)}, r"got \(3, 4\)"),
        ({"words": 3}, "no input 'words'"),
    ],
)
def test_wrong_names_and_numbers_of_lengths_are_refused(
    given: dict[str, object], message: str
) -> None:
    with pytest.raises(ShapeError, match=message):
        sequences().graph.lengths_named(given)


def test_samples_that_are_no_sequences_of_the_input_are_refused() -> None:
    graph = sequences().graph
    for shape in ((4,), (5, 3), (5, 4, 1), (0, 4)):
        with pytest.raises(ShapeError, match=r"\[tokens\] expected"):
            graph.lengths_of([shape])


@pytest.mark.parametrize("shape", [(0, 4), (-1, 4), ("None", 4), (1.5, 4)])
def test_an_input_takes_whole_numbers_and_none(shape: tuple[object, ...]) -> None:
    with pytest.raises(ParameterError, match="whole number"):
        Input(shape)  # type: ignore[arg-type]


def test_a_program_needs_numbers() -> None:
    with pytest.raises(CompileError, match=r"\[tokens\] a program needs numbers"):
        lower(sequences().graph, "infer")
    program = lower(sequences().graph.bound((7,)), "infer")
    assert program.tensors.named("tokens/output").shape == (-1, 7, 4)


def test_a_model_of_unknown_length_is_used_on_a_fixed_one_but_not_the_other_way() -> None:
    tower = sequences()
    fixed = tower(Input((9, 4), name="nine"))
    assert isinstance(fixed, Symbol)
    assert fixed.shape == (2,)
    narrow = Sequential([Input((9, 4)), Dense(2)], name="narrow")
    with pytest.raises(GraphError, match=r"expected an input .*\[N,9,4\], got .*\[N,None,4\]"):
        narrow(tokens())


def test_files_keep_none_in_the_lowest_version_that_can_say_it(tmp_path: Path) -> None:
    path = Project("sequences", sequences().graph).save(tmp_path / "sequences.glassbox")
    document = json.loads(path.read_text("utf-8"))
    assert document["version"] == 3
    assert document["graph"]["nodes"][0]["config"]["shape"] == [None, 4]
    again = Project.load(path)
    assert again.graph.input_shapes == {"tokens": (None, 4)}
    assert again.text() == path.read_text("utf-8")
    fixed = Project("fixed", sequences().graph.bound((7,)))
    assert fixed.version == 1
    document["version"] = 5
    with pytest.raises(FormatError, match="version 5"):
        Project.from_json(document)
