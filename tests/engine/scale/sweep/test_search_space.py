"""What can be varied, and how ranges and lists become values."""

from __future__ import annotations

import math

import pytest

from studio.engine.core.errors import ParameterError
from studio.engine.layers.convolution import Conv2D
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.layers.shaping import Flatten
from studio.engine.scale.sweep.search_space import (
    MAX_POINTS,
    grid_point,
    grid_size,
    parse_axes,
    shown,
    variables,
    varied,
)
from studio.engine.train.project.project import Project
from tests.engine.train.small_tasks import DIGITS, SPIRALS, project


def pictures() -> Project:
    graph = LayerGraph("cnn")
    x = graph.add(Conv2D(4, 3, padding="same", name="conv1"), graph.add(Input((8, 8, 1))))
    graph.outputs = (graph.add(Dense(10, "softmax", name="digit"), graph.add(Flatten(), x)),)
    return project(graph, DIGITS)


def with_schedule() -> Project:
    schedule = {"type": "CosineDecay", "config": {"initial_learning_rate": 0.01,
                                                  "decay_steps": 100}}  # fmt: skip
    optimizer = {"type": "SGD", "config": {"learning_rate": schedule, "momentum": 0.9}}
    return project(None, SPIRALS, optimizer=optimizer)


def refusal(found: Project, *words: str) -> str:
    with pytest.raises(ParameterError) as caught:
        parse_axes(words, found)
    return str(caught.value)


def test_lists_are_read_by_the_kind_of_their_option() -> None:
    words = (
        "conv1.filters=8,16", "conv1.kernel_size=3,3x5", "conv1.use_bias=true,false",
        "conv1.activation=relu,tanh", "learning_rate=1e-3,0.5", "optimizer=Adam,SGD",
    )  # fmt: skip
    axes = parse_axes(words, pictures())
    assert [axis.values for axis in axes] == [
        (8, 16), ("3", "3x5"), (True, False), ("relu", "tanh"), (0.001, 0.5), ("Adam", "SGD"),
    ]  # fmt: skip


def test_values_reach_the_option_they_are_for() -> None:
    found = pictures()
    words = ("conv1.filters=8,16", "conv1.kernel_size=3,3x5", "learning_rate=1e-3,0.5",
             "batch_size=4,8", "optimizer=Adam,SGD")  # fmt: skip
    axes = parse_axes(words, found)
    values = {"conv1.filters": 16, "conv1.kernel_size": "3x5", "learning_rate": 0.5,
              "batch_size": 8, "optimizer": "SGD"}  # fmt: skip
    made = varied(found, axes, values)
    layer = made.graph.layer("conv1")
    assert isinstance(layer, Conv2D)
    assert (layer.filters, layer.kernel_size) == (16, (3, 5))
    assert (type(made.training.optimizer).__name__, made.training.batch_size) == ("SGD", 8)
    assert made.training.optimizer.learning_rate == 0.5
    assert found.graph.layer("conv1").config()["filters"] == 4


def test_an_option_of_a_schedule_is_varied_in_place() -> None:
    found = with_schedule()
    axes = parse_axes(["learning_rate.initial_learning_rate=log:1e-4..1e-1"], found)
    made = varied(found, axes, {axes[0].name: 0.02})
    rate = made.training.optimizer.config()["learning_rate"]
    assert rate["config"] == {"initial_learning_rate": 0.02, "decay_steps": 100}
    assert made.training.optimizer.config()["momentum"] == 0.9
    said = refusal(found, "learning_rate=0.1,0.2")
    assert "learning_rate is a schedule here, CosineDecay" in said
    assert "learning_rate.initial_learning_rate" in said


def test_ranges_cover_their_ends_evenly() -> None:
    whole, log, log_whole, plain = parse_axes(
        ["batch_size=4..7", "learning_rate=log:1e-4..1e-2", "dense.units=log:1..64",
         "beta_1=0.5..0.9"], project()
    )  # fmt: skip
    shares = [index / 8000 for index in range(8000)]
    drawn = [whole.at(share) for share in shares]
    assert {value: drawn.count(value) for value in set(drawn)} == {4: 2000, 5: 2000, 6: 2000,
                                                                   7: 2000}  # fmt: skip
    assert log.at(0.0) == pytest.approx(1e-4)
    assert log.at(0.5) == pytest.approx(1e-3)
    assert all(1e-4 <= log.at(share) <= 1e-2 for share in shares)
    units = [log_whole.at(share) for share in shares]
    assert (min(units), max(units)) == (1, 64)
    # Each whole number has the room around it, on the scale of the logarithm.
    room = math.log(1.5 / 0.5) / math.log(64.5 / 0.5)
    assert units.count(1) / len(units) == pytest.approx(room, abs=0.01)
    assert plain.at(0.25) == pytest.approx(0.6)


def test_points_of_a_range_have_equal_distances_or_ratios() -> None:
    axes = parse_axes(
        ["learning_rate=log:1e-4..1e-1/4", "beta_1=0.5..0.9/3", "dense.units=log:1..4/9"], project()
    )
    assert [axis.values for axis in axes] == [
        (1e-4, 1e-3, 1e-2, 1e-1), (0.5, 0.7, 0.9), (1, 2, 3, 4),
    ]  # fmt: skip


def test_a_grid_counts_its_points_and_the_last_axis_changes_fastest() -> None:
    axes = parse_axes(["dense.units=2,4", "batch_size=3..5"], project())
    assert grid_size(axes) == 6
    assert [tuple(grid_point(axes, number).values()) for number in range(6)] == [
        (2, 3), (2, 4), (2, 5), (4, 3), (4, 4), (4, 5),
    ]  # fmt: skip


def test_a_grid_needs_points_and_not_too_many() -> None:
    with pytest.raises(ParameterError, match=r"a grid needs values, not the range 0\.1\.\.0\.2"):
        grid_size(parse_axes(["beta_1=0.1..0.2"], project()))
    with pytest.raises(ParameterError, match=f"at most {MAX_POINTS:,}"):
        grid_size(parse_axes(["dense.units=1..200", "batch_size=1..100"], project()))


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("dense.unit=1,2", "did you mean dense.units"),
        ("dens.units=1,2", "there is no layer 'dens'\n  hint: did you mean dense.units"),
        ("learnig_rate=1,2", "did you mean learning_rate?"),
        ("momentum=0.1,0.2", "unknown setting 'momentum'"),
        ("learning_rate", "expected NAME=VALUES, got 'learning_rate'"),
        ("learning_rate=", "expected NAME=VALUES"),
        ("learning_rate=0.1", "expected 2 to 1000 values, got 1"),
        ("learning_rate=0.1,0.1", "learning_rate: 0.1 is listed twice"),
        ("learning_rate=0.2..0.1", "the range 0.2..0.1 is empty: 0.2 is not below 0.1"),
        ("learning_rate=1..1", "the range 1..1 is empty"),
        ("learning_rate=log:0..1", "a logarithmic range begins above 0, got 0"),
        ("learning_rate=log:-1..1", "a logarithmic range begins above 0, got -1"),
        ("learning_rate=nan,1", "expected a number, got 'nan'"),
        ("learning_rate=1..inf", "expected a number, got 'inf'"),
        ("learning_rate=-1..1", "learning_rate: "),
        ("learning_rate=0.1..0.2/1", "expected 2 to 1000 points, got '1'"),
        ("learning_rate=0.1..0.2/x", "expected 2 to 1000 points, got 'x'"),
        ("dense.units=0,1", "dense.units: expected a whole number from 1 to 2147483647, got 0"),
        ("dense.units=1.5..3", "dense.units: expected whole numbers, got '1.5..3'"),
        ("dense.units=a,b", "dense.units: expected a whole number, got 'a'"),
        ("dense.activation=relu..tanh", "dense.activation has no range: it is no number"),
        ("dense.activation=relu,nothing", "'nothing'"),
        ("dense.use_bias=yes,no", "expected true or false, got 'yes'"),
        ("batch_size=1,1048577", "batch_size: expected a whole number from 1 to 1048576"),
        ("validation=none,tail", "validation decides how trials are measured"),
        ("metrics=mae,mse", "metrics decides how trials are measured"),
        ("callbacks=a,b", "callbacks cannot be varied"),
        ("input.shape=1,2", "has no option 'shape' to vary"),
        ("dense.name=a,b", "has no option 'name' to vary"),
        ("optimizer=Adam,Adum", "'Adum'"),
        ("x" * 5000 + "=1,2", "unknown setting"),
    ],
)
def test_a_wrong_axis_is_one_clear_sentence(word: str, said: str) -> None:
    text = refusal(project(), word)
    assert said in text
    assert text.startswith("[--vary] ")
    assert len(text.splitlines()) <= 2
    assert len(text) < 700


def test_one_thing_is_not_varied_twice() -> None:
    words = ("learning_rate=1,2", "optimizer.learning_rate=3,4")
    assert "varied twice by learning_rate and optimizer.learning_rate" in refusal(project(), *words)
    assert "expected 1 to 32 things to vary, got 0" in refusal(project())


def test_values_are_shown_short() -> None:
    assert [shown(value) for value in (None, True, 3, 0.123456, "relu")] == [
        "none", "true", "3", "0.1235", "relu",
    ]  # fmt: skip


def test_what_can_be_varied_is_named_with_its_present_value() -> None:
    found = variables(pictures())
    assert found["conv1.filters"].value == 4
    assert found["conv1.filters"].option is Conv2D.option("filters")
    assert found["batch_size"].value == pictures().training.batch_size
    assert found["digit.activation"].value == "softmax"
    assert "learning_rate" in found
    # Decided for all trials alike, lists, names and what has one value only.
    barred = {"validation", "metrics", "loss_weights", "callbacks", "early_stopping", "name"}
    barred |= {"conv1.name", "conv1.data_format", "conv1.groups"}
    assert not barred & found.keys()


def test_of_a_schedule_its_options_can_be_varied() -> None:
    found = variables(with_schedule())
    assert "learning_rate" not in found
    assert found["learning_rate.initial_learning_rate"].value == 0.01
    assert found["learning_rate.decay_steps"].value == 100
    assert found["momentum"].value == 0.9
