"""Parts of a source mapped to inputs and outputs of the network, by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from studio.engine.core.errors import StudioError
from studio.session.data.mapping import (
    ends_of,
    mapped,
    mapped_by_name,
    missing_ends,
    needed_text,
    uses_of,
)
from studio.session.data.peeking import array_parts
from studio.session.data.samples import SampleBrowser
from studio.session.document.edits.layers import rename, set_option
from studio.session.document.edits.outputs import NO_LOSS, set_output_training
from studio.session.document.edits.sections import data_of
from studio.session.document.state import DocumentState
from tests.session.data.test_model import DataDesk
from tests.session.document.faulty_parts import graph, marked, plain

ROWS = 60


@pytest.fixture
def desk() -> Iterator[DataDesk]:
    made = DataDesk()
    yield made
    made.tasks.close()


def network() -> DocumentState:
    """Two inputs and two outputs: left and right, kind and size."""
    return graph(
        ("left", "Input", "", {"shape": [3]}),
        ("right", "Input", "", {"shape": [4, 4, 1]}),
        ("flat", "Flatten", "right", {}),
        plain("joined", "Concatenate", "left", "flat"),
        ("kind", "Dense", "joined", {"units": 2, "activation": "softmax"}),
        ("size", "Dense", "joined", {"units": 1}),
        change=marked("kind", "size"),
    )


def arrays(**changes: object) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    left = rng.normal(size=(ROWS, 3))
    made: dict[str, object] = {
        "left": left,
        "RIGHT": rng.integers(0, 256, (ROWS, 4, 4)).astype(np.uint8),
        "kind": (left.sum(1) > 0).astype(np.int64),
        "size": left[:, 0],
        "other": np.zeros((ROWS, 9), np.int32),
    }
    made.update(changes)
    return {name: np.asarray(value) for name, value in made.items() if value is not None}


def attached(desk: DataDesk, folder: Path, **changes: object) -> None:
    path = folder / "scenes.npz"
    np.savez(path, **arrays(**changes))
    desk.document.apply("network", network())
    desk.data.attach_path(path)
    desk.settle()


def problems(desk: DataDesk) -> set[tuple[str, str]]:
    return {(p.id, p.node) for p in desk.document.report.problems}


def test_arrays_go_to_what_is_named_like_them(desk: DataDesk, tmp_path: Path) -> None:
    attached(desk, tmp_path)
    assert desk.data.status == "ready"
    assert desk.data.data["source"] == "arrays"
    assert desk.data.data["inputs"] == {
        "left": {"array": "left", "normalization": "standard"},
        "right": {"array": "RIGHT", "normalization": "unit"},
    }
    assert desk.data.data["targets"] == {"kind": "kind", "size": "size"}
    assert [part.key for part in desk.data.parts] == ["left", "RIGHT", "kind", "size", "other"]
    assert desk.data.parts[1].about == "[60, 4, 4] uint8"
    assert not problems(desk)
    summary = desk.data.summary
    assert summary is not None
    assert [row.name for row in summary.features] == ["left 0", "left 1", "left 2", "right"]
    assert abs(summary.features[0].low_in) < 5
    assert summary.features[3].high_in == pytest.approx(1.0, abs=0.01)


def test_a_part_is_given_taken_and_given_to_two(desk: DataDesk, tmp_path: Path) -> None:
    attached(desk, tmp_path)
    other = desk.data.parts[4]
    desk.data.mapping.use(other, "inputs", "left")
    desk.settle()
    assert mapped(desk.data.data, "inputs")["left"] == ("other",)
    assert ("data.input_shape", "left") in problems(desk)
    offer = desk.data.offer
    assert offer is not None
    assert offer.text == "Set left to [9]"
    desk.data.take_offer()
    assert not problems(desk)
    desk.data.mapping.leave_out(desk.data.parts[2])
    desk.settle()
    assert ("data.no_target_array", "kind") in problems(desk)
    assert [end.name for end in missing_ends(desk.data.data, desk.data.mapping.ends)] == ["kind"]
    desk.data.mapping.use(desk.data.parts[3], "targets", "kind")
    desk.settle()
    assert mapped(desk.data.data, "targets") == {"kind": ("size",), "size": ("size",)}
    desk.data.mapping.map_by_name()
    assert mapped(desk.data.data, "targets") == {"kind": ("kind",), "size": ("size",)}


def test_samples_show_every_input_and_output(desk: DataDesk, tmp_path: Path) -> None:
    attached(desk, tmp_path)
    assert desk.data.summary is not None
    given, part = arrays(), desk.data.summary.training
    left, right = SampleBrowser(part, place=0), SampleBrowser(part, place=1)
    assert (left.array.name, left.sample_shape) == ("left", (3,))
    assert (right.array.kind, right.sample_shape) == ("images", (4, 4, 1))
    sample = right[0]
    np.testing.assert_array_equal(sample.values[..., 0], given["RIGHT"][sample.index])
    kind, size = given["kind"][sample.index], given["size"][sample.index]
    assert right.target_names == ("kind", "size")
    shown = f"{size:.4g}".replace("-", "\N{MINUS SIGN}")
    assert sample.labels == (str(kind), shown)
    assert sample.label == f"kind {kind}, size {shown}"
    only = SampleBrowser(part, klass=1)
    assert {each.klass for each in only} == {1}


def test_options_of_inputs_and_outputs(desk: DataDesk, tmp_path: Path) -> None:
    attached(desk, tmp_path)
    desk.data.set_option("normalization:left", "none")
    desk.data.set_option("class_names:kind", "small, large")
    desk.data.set_option("task:size", "regression")
    desk.settle()
    assert desk.data.data["inputs"]["left"] == {"array": "left", "normalization": "none"}
    assert desk.data.data["targets"] == {
        "kind": {"array": "kind", "class_names": ["small", "large"]},
        "size": {"array": "size", "task": "regression"},
    }
    assert desk.data.dataset is not None
    assert desk.data.dataset.targets[0].class_names == ("small", "large")
    desk.data.set_option("task:size", None)
    desk.data.set_option("class_names:kind", None)
    assert desk.data.data["targets"] == {"kind": "kind", "size": "size"}
    with pytest.raises(StudioError):
        desk.data.set_option("normalization:left", "sideways")
    with pytest.raises(StudioError, match="nothing is mapped"):
        desk.data.set_option("task:none", "classes")


def test_a_renamed_input_keeps_its_data(desk: DataDesk, tmp_path: Path) -> None:
    attached(desk, tmp_path)
    desk.document.apply("rename", rename(desk.document.state, "left", "position"))
    desk.settle()
    assert mapped(desk.data.data, "inputs") == {"position": ("left",), "right": ("RIGHT",)}
    assert not problems(desk)
    desk.document.undo()
    desk.settle()
    assert mapped(desk.data.data, "inputs") == {"left": ("left",), "right": ("RIGHT",)}


def test_data_of_a_name_that_is_gone_is_repaired(desk: DataDesk, tmp_path: Path) -> None:
    attached(desk, tmp_path)
    data = data_of(desk.document.state)
    assert data is not None
    made = dict(desk.data.data)
    made["inputs"] = {"position": "left", "right": "RIGHT"}
    desk.data.attach(made)
    desk.settle()
    found = {p.id: p for p in desk.document.report.problems}
    assert set(found) == {"data.no_input_array"}
    stray = found["data.no_input_array"]
    state = stray.fixes[0].apply(desk.document.state)
    desk.document.apply("repair", state)
    desk.settle()
    assert not problems(desk)


def test_samples_and_labels_are_offered_a_mapping(desk: DataDesk, tmp_path: Path) -> None:
    path = tmp_path / "scenes.npz"
    np.savez(path, **arrays(x=np.ones((ROWS, 3)), y=np.arange(ROWS) % 2))
    desk.data.attach_path(path)
    desk.settle()
    assert desk.data.data["source"] == "npz"
    desk.document.apply("network", network().replaced(data=desk.document.state.data))
    desk.settle()
    assert ("data.several_inputs", "right") in problems(desk)
    offer = desk.data.offer
    assert offer is not None
    desk.data.take_offer()
    desk.settle()
    assert desk.data.data["source"] == "arrays"
    assert not problems(desk)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"left": np.zeros((ROWS - 1, 3))}, "same number of samples"),
        ({"left": np.full((ROWS, 3), np.nan)}, "finite number"),
        ({"left": np.array(["a", "b"] * (ROWS // 2))}, "expected numbers"),
        ({"left": np.zeros((0, 3))}, "array is empty"),
        ({"size": np.full(ROWS, np.inf)}, "label of sample 0 is not a finite number"),
    ],
)
def test_arrays_that_make_no_data_are_refused_by_name(
    desk: DataDesk, tmp_path: Path, changes: dict[str, object], said: str
) -> None:
    attached(desk, tmp_path)
    np.savez(tmp_path / "scenes.npz", **arrays(**changes))
    desk.data.reload()
    desk.settle()
    assert desk.data.status == "failed"
    assert desk.data.error is not None
    assert said in desk.data.error.message
    name = next(iter(changes))
    assert name in f"{desk.data.error.who} {desk.data.error.message}"
    assert desk.data.parts, "the mapping can still be changed"


def test_a_missing_array_is_named(desk: DataDesk, tmp_path: Path) -> None:
    attached(desk, tmp_path)
    np.savez(tmp_path / "scenes.npz", **arrays(size=None))
    desk.data.reload()
    desk.settle()
    assert desk.data.error is not None
    assert "there is no array 'size' for 'size'" in desk.data.error.message


def test_nothing_named_alike_says_what_is_missing(desk: DataDesk, tmp_path: Path) -> None:
    path = tmp_path / "parts.npz"
    np.savez(path, a=np.zeros((ROWS, 7)), b=np.zeros((ROWS, 8)), c=np.zeros(ROWS))
    desk.document.apply("network", network())
    desk.data.attach_path(path)
    desk.settle()
    assert desk.data.status == "failed"
    assert desk.data.error is not None
    assert desk.data.error.message == "nothing is mapped to an input of the network"
    assert [part.key for part in desk.data.parts] == ["a", "b", "c"]
    assert len(missing_ends(desk.data.data, desk.data.mapping.ends)) == 4


def test_an_input_without_a_name_alike_gets_what_has_its_shape(tmp_path: Path) -> None:
    path = tmp_path / "parts.npz"
    np.savez(path, a=np.zeros((ROWS, 3)), b=np.zeros((ROWS, 4, 4, 1)), kind=np.arange(ROWS) % 2,
             last=np.zeros(ROWS))  # fmt: skip
    made = mapped_by_name(
        {"source": "arrays", "path": "parts.npz"}, array_parts(path), ends_of(network())
    )
    assert mapped(made, "inputs") == {"left": ("a",), "right": ("b",)}
    assert mapped(made, "targets") == {"kind": ("kind",)}


def test_mapping_by_name_keeps_options_and_what_no_part_is_named_after(
    desk: DataDesk, tmp_path: Path
) -> None:
    attached(desk, tmp_path)
    mapping, other, kind = desk.data.mapping, desk.data.parts[4], desk.data.parts[2]
    mapping.set_option("normalization:left", "unit")
    mapping.set_option("class_names:kind", "no, yes")
    before = desk.data.data
    mapping.map_by_name()
    assert desk.data.data == before
    # Another array by hand: the array of its name comes back, its options stay.
    mapping.use(desk.data.parts[3], "targets", "kind")
    mapping.use(other, "weights", "kind")
    steps = len(desk.document.history.texts)
    mapping.map_by_name()
    assert desk.data.data == {**before, "weights": {"kind": "other"}}
    assert len(desk.document.history.texts) == steps + 1
    # One step, too, takes away targets with their weights.
    mapping.use(kind, "targets", "kind", used=False)
    assert len(desk.document.history.texts) == steps + 2
    assert "weights" not in desk.data.data
    desk.document.undo()
    assert desk.data.data["weights"] == {"kind": "other"}


def test_an_output_without_a_loss_needs_no_data(desk: DataDesk, tmp_path: Path) -> None:
    attached(desk, tmp_path)
    state = set_output_training(desk.document.state, "size", {"loss": NO_LOSS})
    desk.document.apply("loss", state)
    desk.data.mapping.leave_out(desk.data.parts[3])
    desk.settle()
    assert (desk.data.status, problems(desk)) == ("ready", set())
    ends = desk.data.mapping.ends
    assert missing_ends(desk.data.data, ends) == ()
    assert needed_text(desk.data.data, ends) == ""
    measured = set_output_training(desk.document.state, "size", {"metrics": ["mse"]})
    desk.document.apply("metrics", measured)
    assert problems(desk) == {("data.no_target_array", "size")}
    missing = missing_ends(desk.data.data, desk.data.mapping.ends)
    assert [end.name for end in missing] == ["size"]


def test_mapping_by_name_leaves_what_was_mapped_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "parts.npz"
    np.savez(path, a=np.zeros((ROWS, 3)), b=np.zeros((ROWS, 4, 4, 1)), kind=np.arange(ROWS) % 2,
             last=np.zeros(ROWS), w=np.ones(ROWS), size=np.ones(ROWS))  # fmt: skip
    by_hand = {
        "source": "arrays", "path": "parts.npz",
        "inputs": {"left": {"array": "a", "normalization": "unit"}, "gone": "b"},
        "targets": {"kind": {"array": "last", "task": "regression"}, "size": "size"},
        "weights": {"kind": "w", "gone": "w"},
    }  # fmt: skip
    made = mapped_by_name(by_hand, array_parts(path), ends_of(network()))
    assert made["inputs"]["left"] == {"array": "a", "normalization": "unit"}
    assert mapped(made, "inputs") == {"left": ("a",), "right": ("b",)}
    assert made["targets"] == {"kind": {"array": "kind", "task": "regression"}, "size": "size"}
    assert made["weights"] == {"kind": "w"}
    unnamed = {**by_hand, "targets": {"kind": "last", "size": "gone"}}
    parts = [part for part in array_parts(path) if part.key not in ("kind", "size")]
    made = mapped_by_name(unnamed, parts, ends_of(network()))
    assert made["targets"]["kind"] == "last"


def test_columns_of_a_table_go_to_what_their_names_begin_with(
    desk: DataDesk, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    head = ["left_1", "left_2", "left_3", *(f"right {i}" for i in range(16)), "kind", "size", "id"]
    rows = [",".join(head)]
    for row in range(ROWS):
        numbers = [f"{value:.3f}" for value in rng.normal(size=19)]
        rows.append(",".join([*numbers, "ab"[row % 2], f"{row / 7:.3f}", f"n{row}"]))
    path = tmp_path / "table.csv"
    path.write_text("\n".join(rows))
    desk.document.apply("network", network())
    desk.data.attach_path(path)
    desk.settle()
    assert desk.data.data["source"] == "columns"
    assert desk.data.status == "ready"
    assert desk.data.data["inputs"]["left"] == {
        "columns": ["left_1", "left_2", "left_3"], "normalization": "standard"
    }  # fmt: skip
    assert mapped(desk.data.data, "targets") == {"kind": ("kind",), "size": ("size",)}
    # The network takes pictures of 4 by 4, a table has rows of 16.
    assert problems(desk) == {("data.input_shape", "right")}
    desk.data.take_offer()
    assert desk.document.report.status("right").shape == (16,)
    desk.data.mapping.use(desk.data.parts[3], "inputs", "left")
    desk.settle()
    assert len(mapped(desk.data.data, "inputs")["left"]) == 4
    desk.data.mapping.use(desk.data.parts[3], "inputs", "left", used=False)
    desk.settle()
    assert mapped(desk.data.data, "inputs")["left"] == ("left_1", "left_2", "left_3")
    assert desk.data.columns == (), "the editor of one label column is for other tables"


def write_pairs(folder: Path, masks: str = "masks", count: int = 20) -> Path:
    """Pictures of 8 by 8 with masks of two classes: what is brighter than the middle."""
    rng = np.random.default_rng(0)
    for name in ("images", masks):
        (folder / name).mkdir(parents=True)
    for place in range(count):
        pixels = rng.integers(0, 256, (8, 8), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / "images" / f"{place}.png")
        Image.fromarray((pixels > 127).astype(np.uint8)).save(folder / masks / f"{place}.png")
    return folder


def segmentation() -> DocumentState:
    """A picture of 8 by 8 to a class at each pixel."""
    return graph(
        ("picture", "Input", "", {"shape": [8, 8, 1]}),
        ("inner", "Conv2D", "picture", {"filters": 4, "kernel_size": [1, 1]}),
        ("classes", "Conv2D", "inner",
         {"filters": 2, "kernel_size": [1, 1], "activation": "softmax"}),
    )  # fmt: skip


@pytest.mark.parametrize("masks", ["masks", "Labels"])
def test_pictures_and_masks_are_known_and_mapped(
    desk: DataDesk, tmp_path: Path, masks: str
) -> None:
    desk.document.apply("network", segmentation())
    desk.data.attach_path(write_pairs(tmp_path / "cells", masks))
    desk.settle()
    assert (desk.data.status, desk.data.data["source"]) == ("ready", "folders")
    assert desk.data.data["inputs"] == {"picture": {"folder": "images", "normalization": "unit"}}
    assert desk.data.data["targets"] == {"classes": masks}
    assert not problems(desk)
    assert [part.about for part in desk.data.parts] == ["20 images", "20 images"]
    summary = desk.data.summary
    assert summary is not None
    assert [len(part) for part in summary.parts] == [16, 4]
    sample = SampleBrowser(summary.training)[0]
    assert (sample.label, sample.klass) == ("", -1)
    assert sample.mask is not None
    np.testing.assert_array_equal(sample.mask, sample.values[..., 0] > 127)


def test_masks_need_an_output_of_their_size(desk: DataDesk, tmp_path: Path) -> None:
    state = segmentation()
    desk.document.apply("network", set_option(state, "inner", "strides", [2, 2]))
    desk.data.attach_path(write_pairs(tmp_path / "cells"))
    desk.settle()
    (found,) = desk.document.report.problems
    assert (found.id, found.node) == ("output.rank", "classes")
    assert "expected [8,8,2] for 2 classes at each position" in found.message


def test_pictures_and_masks_without_a_network_keep_their_names(
    desk: DataDesk, tmp_path: Path
) -> None:
    desk.data.attach_path(write_pairs(tmp_path / "cells"))
    desk.settle()
    assert desk.data.status == "ready"
    assert mapped(desk.data.data, "inputs") == {"images": ("images",)}
    assert mapped(desk.data.data, "targets") == {"masks": ("masks",)}


def test_two_classes_called_otherwise_stay_classes(desk: DataDesk, tmp_path: Path) -> None:
    write_pairs(tmp_path / "pets", "cat")
    desk.data.attach_path(tmp_path / "pets")
    desk.settle()
    assert desk.data.data["source"] == "images"


def test_bad_rows_of_mapped_columns_are_listed_and_skipped(desk: DataDesk, tmp_path: Path) -> None:
    rows = ["left_1,left_2,left_3,right,kind,size,id"]
    rows += [f"{n},2,3,4,{'ab'[n % 2]},{n}.5,{n}" for n in range(20)]
    rows += ["x,2,3,4,a,5,1", "1,2,3,4,,5,1", "1,2,3"]
    (tmp_path / "table.csv").write_text("\n".join(rows))
    desk.document.apply("network", network())
    desk.data.attach_path(tmp_path / "table.csv")
    desk.settle()
    assert desk.data.status == "failed"
    assert [(each.row, each.column) for each in desk.data.problems.rows] == [
        (22, "left_1"), (23, "kind"), (24, "")
    ]  # fmt: skip
    assert desk.data.problems.can_skip
    desk.data.cleaning.skip()
    desk.settle()
    assert (desk.data.status, desk.data.data["bad_rows"]) == ("ready", "skip")
    assert desk.data.cleaning.summary == "3 rows skipped"
    assert desk.data.summary is not None
    assert desk.data.summary.samples == 20


def test_damaged_masks_are_all_listed(desk: DataDesk, tmp_path: Path) -> None:
    folder = write_pairs(tmp_path / "cells")
    for name in ("3", "7"):
        (folder / "masks" / f"{name}.png").write_bytes(b"no picture")
    desk.document.apply("network", segmentation())
    desk.data.attach_path(folder)
    desk.settle()
    assert desk.data.status == "failed"
    assert [each.file for each in desk.data.problems.rows] == [
        "masks/3.png", "masks/7.png"
    ]  # fmt: skip


def test_an_array_is_the_sample_weights_of_an_output(desk: DataDesk, tmp_path: Path) -> None:
    attached(desk, tmp_path, other=np.linspace(0, 2, ROWS))
    other = desk.data.parts[4]
    desk.data.mapping.use(other, "weights", "kind")
    desk.settle()
    assert desk.data.data["weights"] == {"kind": "other"}
    assert desk.data.dataset is not None
    (found,) = desk.data.dataset.weights
    np.testing.assert_allclose(found.values, np.linspace(0, 2, ROWS), rtol=1e-6)
    assert not problems(desk)
    desk.data.attach({**desk.data.data, "weights": "other"})
    assert uses_of(desk.data.data, "other") == (("weights", "kind"), ("weights", "size"))
    desk.data.mapping.use(other, "weights", "size", used=False)
    assert desk.data.data["weights"] == {"kind": "other"}
    # Without its targets an output has no weights.
    desk.data.mapping.leave_out(desk.data.parts[2])
    assert "weights" not in desk.data.data
    desk.document.undo()
    desk.data.mapping.leave_out(other)
    assert "weights" not in desk.data.data
    desk.settle()
    assert desk.data.status == "ready"


@pytest.mark.parametrize("source", ["arrays", "columns"])
def test_an_input_of_whole_numbers_gets_them_as_they_are(
    desk: DataDesk, tmp_path: Path, source: str
) -> None:
    words = np.random.default_rng(0).integers(0, 50, (ROWS, 3))
    state = set_option(network(), "left", "dtype", "int32")
    state = set_option(state, "right", "shape", [1])
    desk.document.apply("network", state)
    given = {"left": words.astype(np.float64) if source == "columns" else words,
             "right": np.linspace(0, 1, ROWS), "kind": words[:, 0] % 2,
             "size": np.linspace(0, 1, ROWS)}  # fmt: skip
    if source == "arrays":
        path = tmp_path / "words.npz"
        np.savez(path, **given)
    else:
        path = tmp_path / "words.csv"
        rows = ["left_1,left_2,left_3,right,kind,size"]
        rows += [f"{a},{b},{c},{n / 7},{'ab'[a % 2]},{n / 3}" for n, (a, b, c) in enumerate(words)]
        path.write_text("\n".join(rows))
    desk.data.attach_path(path)
    desk.settle()
    assert (desk.data.status, desk.data.data["source"]) == ("ready", source)
    assert desk.data.dataset is not None
    left, right = desk.data.dataset.inputs
    assert left.values.dtype == np.int32
    np.testing.assert_array_equal(left.values, words)
    assert right.normalization == "standard"
    assert not left.normalization or left.normalization == "none"


def test_arrays_named_as_the_only_input_and_output_go_to_them(
    desk: DataDesk, tmp_path: Path
) -> None:
    rows = np.random.default_rng(0).normal(size=(ROWS, 6)).astype(np.float32)
    coder = graph(
        ("rows", "Input", "", {"shape": [6]}), ("restored", "Dense", "rows", {"units": 6})
    )
    desk.document.apply("coder", coder)
    np.savez(tmp_path / "rows.npz", rows=rows, restored=rows)
    desk.data.attach_path(tmp_path / "rows.npz")
    desk.settle()
    assert mapped(desk.data.data, "inputs") == {"rows": ("rows",)}
    assert mapped(desk.data.data, "targets") == {"restored": ("restored",)}
    assert desk.data.status == "ready"
    assert problems(desk) == set()
    # Names that samples and labels usually have are read as such.
    np.savez(tmp_path / "usual.npz", x=rows, y=np.arange(ROWS) % 3, rows=rows, restored=rows)
    desk.data.attach_path(tmp_path / "usual.npz")
    desk.settle()
    assert desk.data.data["source"] == "npz"
