"""Arrays of a file find the parameters of a network by name, then by shape, and never silently."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.errors import CheckpointError, FormatError, StudioError
from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.formats.npz import save_npz
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.layers.named_parameters import public_weights
from studio.engine.train.importing.matching import (
    MatchTable,
    match_file,
    match_weights,
    matched_weights,
    report_of,
    weight_arrays,
)
from studio.engine.train.importing.report import saved_report
from studio.engine.train.importing.weights import import_matched, import_weights
from studio.engine.train.project.project import Project
from studio.engine.train.weights import initial_weights
from tests.engine.train.small_tasks import mlp

Arrays = Mapping[str, np.ndarray]


def public(seed: int = 3, graph: LayerGraph | None = None) -> dict[str, np.ndarray]:
    """Weights of the small network: kernels [2, 8] and [8, 2], biases [8] and [2]."""
    made = graph or mlp()
    return dict(public_weights(made, initial_weights(made, seed)))


def states(table: MatchTable) -> dict[str, tuple[str, str]]:
    return {row.name: (row.parameter, row.state) for row in table.rows}


def test_equal_names_match_and_nothing_is_left() -> None:
    table = match_weights(mlp(), public())
    assert table.is_exact
    assert set(states(table).values()) == {(name, "name") for name in public()}


@pytest.mark.parametrize("form", ["{}:0", "module.{}", "model/top/{}", "/{}"])
def test_names_are_found_behind_a_prefix_and_in_other_forms(form: str) -> None:
    arrays = {form.format(name).replace("/", "."): v for name, v in public().items()}
    table = match_weights(mlp(), arrays)
    assert table.is_exact
    assert [row.parameter for row in table.rows] == list(public())


def test_other_names_match_by_shape_where_each_shape_is_there_as_often() -> None:
    arrays = {f"array_{i}": each for i, each in enumerate(public().values())}
    table = match_weights(mlp(), arrays)
    assert [row.parameter for row in table.rows] == list(public())
    assert {row.state for row in table.rows} == {"shape"}
    assert not table.is_exact
    assert not table.unmet


def test_one_array_too_many_of_a_shape_is_not_guessed() -> None:
    arrays = {f"array_{i}": each for i, each in enumerate(public().values())}
    arrays["extra"] = np.zeros((2, 8), np.float32)
    table = match_weights(mlp(), arrays)
    assert states(table)["array_0"] == ("", "no match")
    assert states(table)["extra"] == ("", "no match")
    assert states(table)["array_1"] == ("dense/bias", "shape")
    assert table.unmet == (("dense/kernel", (2, 8)),)


def test_a_name_with_another_shape_is_said_and_takes_no_other_array() -> None:
    arrays = public()
    arrays["dense/kernel"] = np.zeros((3, 8), np.float32)
    arrays["stray"] = np.zeros((2, 8), np.float32)
    table = match_weights(mlp(), arrays)
    row = table.rows_by_name["dense/kernel"]
    assert (row.state, row.shape, row.wanted) == ("wrong shape", (3, 8), (2, 8))
    assert states(table)["stray"] == ("", "no match")
    assert table.unmet == (("dense/kernel", (2, 8)),)


def test_two_names_that_end_alike_are_not_guessed() -> None:
    arrays = {"a/dense/kernel": np.zeros((2, 8)), "b/dense/kernel": np.zeros((2, 8))}
    table = match_weights(mlp(), arrays)
    assert {row.state for row in table.rows} == {"no match"}


def test_arrays_of_equal_shapes_keep_their_order() -> None:
    graph = LayerGraph("deep")
    x = graph.add(Input((4,)))
    for name in ("a", "b", "c"):
        x = graph.add(Dense(4, name=name, use_bias=False), x)
    graph.outputs = (x,)
    arrays = {f"w{i}": np.full((4, 4), i, np.float32) for i in range(3)}
    table = match_weights(graph, arrays)
    assert states(table) == {f"w{i}": (f"{n}/kernel", "shape") for i, n in enumerate("abc")}
    stored = matched_weights(graph, arrays, table, dict, "w")
    assert [stored[f"{n}/kernel"][0, 0] for n in "abc"] == [0, 1, 2]


@pytest.mark.parametrize("arrays", [{}, {"x": np.zeros(())}, {"x": np.zeros((0, 8))}])
def test_files_with_nothing_that_fits_are_refused(arrays: Arrays) -> None:
    table = match_weights(mlp(), arrays)
    assert [name for name, _ in table.unmet] == list(public())
    with pytest.raises(CheckpointError, match=f"none of its {len(arrays)} arrays fits"):
        matched_weights(mlp(), arrays, table, dict, "file")


@pytest.mark.parametrize(
    "values",
    [np.full(8, np.nan), np.full(8, np.inf, np.float32), np.full(8, 1e39), np.zeros(8, "U1"),
     np.zeros(8, complex)],
)  # fmt: skip
def test_what_is_no_number_here_is_refused_by_name(values: np.ndarray) -> None:
    arrays = {**public(), "dense/bias": values}
    with pytest.raises(CheckpointError, match="'dense/bias' holds"):
        matched_weights(mlp(), arrays, match_weights(mlp(), arrays), dict, "file")


def test_what_the_user_takes_out_of_the_table_is_not_taken() -> None:
    table = match_weights(mlp(), public()).without(["dense/kernel", "dense_1/bias"])
    assert table.unmet == (("dense/kernel", (2, 8)), ("dense_1/bias", (2,)))
    made = matched_weights(mlp(), public(), table, lambda: initial_weights(mlp(), 9), "file")
    fresh, taken = initial_weights(mlp(), 9), initial_weights(mlp(), 3)
    np.testing.assert_array_equal(made["dense/kernel"], fresh["dense/kernel"])
    np.testing.assert_array_equal(made["dense_1/kernel"], taken["dense_1/kernel"])


def test_matched_arrays_become_a_run_with_a_report(tmp_path: Path) -> None:
    Project("net", mlp()).save(tmp_path / "net.glassbox")
    arrays = {"w": public()["dense/kernel"].astype(np.float64), "noise": np.zeros(5)}
    save_npz(tmp_path / "some.npz", arrays)
    table = match_weights(mlp(), weight_arrays(tmp_path / "some.npz"))
    run = import_matched(tmp_path / "some.npz", tmp_path / "net.glassbox", table)
    found = Checkpoint.load(run.checkpoint_path("final")).tensors
    np.testing.assert_array_equal(found["dense/kernel"], initial_weights(mlp(), 3)["dense/kernel"])
    np.testing.assert_array_equal(
        found["dense_1/kernel"], initial_weights(mlp(), 0)["dense_1/kernel"]
    )
    report = saved_report(run)
    assert report is not None
    assert report.lines() == [
        "some.npz: Weights (NumPy)",
        "left out: noise [5]: taken for no parameter",
        "w was taken for dense/kernel by its shape",
        "nothing was taken for dense/bias",
        "nothing was taken for dense_1/kernel",
        "nothing was taken for dense_1/bias",
    ]


def test_a_file_that_changed_and_one_of_another_kind_are_refused(tmp_path: Path) -> None:
    path = Project("net", mlp()).save(tmp_path / "net.glassbox")
    save_npz(tmp_path / "some.npz", public())
    table = match_weights(mlp(), public())
    save_npz(tmp_path / "some.npz", {"other": np.zeros(3)})
    with pytest.raises(CheckpointError, match="changed in the meantime"):
        import_matched(tmp_path / "some.npz", path, table)
    (tmp_path / "some.npz").write_bytes(b"nothing of the kind")
    with pytest.raises(FormatError, match="expected weights as"):
        weight_arrays(tmp_path / "some.npz")
    with pytest.raises(StudioError):
        weight_arrays(tmp_path / "none.npz")
    assert not (tmp_path / "net.runs").exists()


def test_names_in_another_form_are_brought_in_without_a_table(tmp_path: Path) -> None:
    path = Project("net", mlp()).save(tmp_path / "net.glassbox")
    save_npz(tmp_path / "some.npz", {f"{name}:0": each for name, each in public().items()})
    assert match_file(mlp(), tmp_path / "some.npz") is None
    found = Checkpoint.load(
        import_weights(tmp_path / "some.npz", path).checkpoint_path("final")
    ).tensors
    np.testing.assert_array_equal(found["dense/bias"], initial_weights(mlp(), 3)["dense/bias"])
    save_npz(tmp_path / "nan.npz", {**public(), "dense/bias": np.full(8, np.nan, np.float32)})
    with pytest.raises(CheckpointError, match="holds NaN"):
        import_weights(tmp_path / "nan.npz", path)


def test_an_array_is_taken_by_hand_for_a_free_parameter_of_its_shape_only() -> None:
    arrays = {"a": np.zeros(8), "b": np.zeros((8, 2)), "c": np.ones((8, 2)), "d": np.zeros(5)}
    table = match_weights(mlp(), arrays)
    assert states(table)["b"] == ("", "no match")
    assert table.choices("b") == table.choices("c") == ("dense_1/kernel",)
    assert table.choices("d") == table.choices("none") == ()
    chosen = table.with_choice("c", "dense_1/kernel")
    assert states(chosen)["c"] == ("dense_1/kernel", "hand")
    assert chosen.choices("b") == ()
    assert "dense_1/kernel" not in dict(chosen.unmet)
    assert "c was taken for dense_1/kernel by hand" in report_of(chosen, "w", "npz").remarks
    made = matched_weights(mlp(), arrays, chosen, lambda: initial_weights(mlp(), 0), "w")
    np.testing.assert_array_equal(made["dense_1/kernel"], np.ones((2, 8)))
    assert chosen.without(["c"]).unmet[-1] == ("dense_1/kernel", (8, 2))
    for name, parameter in (("b", "dense/kernel"), ("b", "none"), ("none", "dense/kernel")):
        with pytest.raises(CheckpointError, match="expected a parameter of its shape"):
            table.with_choice(name, parameter)
    with pytest.raises(CheckpointError, match="expected a parameter of its shape"):
        chosen.with_choice("b", "dense_1/kernel")
