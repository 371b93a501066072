"""The data of a document: opened once in the background, described truly, changed by steps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.errors import DataError, ParameterError, StudioError
from studio.engine.core.interruption import interrupted_by
from studio.engine.train.data.dataset import Dataset
from studio.engine.train.data.references import OPTIONS, open_dataset
from studio.engine.train.project.data_settings import DataSettings
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.session.core.tasks import CancelledError
from studio.session.data.cache import DatasetCache
from studio.session.data.data import DataModel
from studio.session.data.opening import Attachment
from studio.session.data.samples import SampleBrowser, picture
from studio.session.data.sources import FORMS
from studio.session.document.document import Document
from studio.session.document.edits.layers import add_layer
from studio.session.document.edits.sections import set_training
from tests.session.data.files import BAD_TABLE, HeldReading, write_pictures, write_table
from tests.session.desk import Desk

PROJECTS = Path(__file__).resolve().parents[3] / "projects"


class DataDesk(Desk):
    """A desk with the data of its document."""

    def __init__(self) -> None:
        super().__init__()
        self.data = DataModel(self.current, self.tasks)
        self.data.follow(self.document)

    def open(self, path: Path) -> Document:
        found = super().open(path)
        self.data.follow(found)
        return found


@pytest.fixture
def desk() -> Iterator[DataDesk]:
    made = DataDesk()
    yield made
    made.tasks.close()


def test_a_bundled_set_is_one_step_and_undo_takes_it_back(desk: DataDesk) -> None:
    desk.data.choose("digits")
    assert desk.data.status == "opening"
    desk.settle()
    assert desk.data.status == "ready"
    summary = desk.data.summary
    assert summary is not None
    assert (summary.samples, summary.dataset.sample_shape) == (1797, (8, 8, 1))
    assert desk.document.data_facts is not None
    assert desk.document.data_facts.classes == 10
    assert desk.document.history.texts == ("Use digits",)
    desk.document.undo()
    desk.settle()
    assert (desk.data.status, desk.data.summary) == ("none", None)
    assert desk.document.data_facts is None
    desk.document.redo()
    desk.settle()
    assert desk.data.dataset is summary.dataset, "the set is read once"


@pytest.mark.parametrize("name", ["digits-mlp/digits-mlp", "iris/iris", "spirals/spirals"])
@pytest.mark.parametrize("validation", ["held-out", "tail", "random", "none"])
def test_parts_are_those_a_training_gets(desk: DataDesk, name: str, validation: str) -> None:
    path = PROJECTS / f"{name}.glassbox"
    desk.open(path)
    state = set_training(
        desk.document.state, {"validation": validation, "validation_fraction": 0.25}
    )
    desk.document.apply("Change validation", state)
    desk.settle()
    summary = desk.data.summary
    assert summary is not None
    project = Project.load(path).with_training(validation=validation, validation_fraction=0.25)
    task = Task.of_project(project)
    expected = {"training": task.training, "test": task.test}
    if validation in ("tail", "random"):
        expected["validation"] = task.validation
    assert {part.name for part in summary.parts} == set(expected)
    test = "held-out" if task.validation is task.test else "test"
    assert [part.title for part in summary.parts][-1] == test
    for part in summary.parts:
        samples = expected[part.name]
        assert samples is not None
        np.testing.assert_array_equal(part.dataset.x[part.indices], samples.inputs[0])
        np.testing.assert_array_equal(part.dataset.y[part.indices], samples.targets[0])
        browser = SampleBrowser(part)
        assert len(browser) == len(samples)
    scale = task.spec.inputs[0].scale or (1.0,) * len(summary.normalization.scale)
    np.testing.assert_array_equal(summary.normalization.scale, np.float32(scale))


def test_statistics_are_those_of_the_training_part_before_and_after(desk: DataDesk) -> None:
    desk.data.choose("iris")
    desk.settle()
    summary = desk.data.summary
    assert summary is not None
    part = summary.training
    raw = part.dataset.x[part.indices].astype(np.float64)
    inside = (raw - raw.mean(0)) / raw.std(0)
    for index, row in enumerate(summary.features):
        assert row.name == part.dataset.feature_names[index]
        assert row.mean == pytest.approx(raw[:, index].mean(), rel=1e-12)
        assert row.deviation == pytest.approx(raw[:, index].std(), rel=1e-12)
        assert (row.low, row.high) == (raw[:, index].min(), raw[:, index].max())
        assert row.low_in == pytest.approx(inside[:, index].min(), abs=1e-5)
        assert row.high_in == pytest.approx(inside[:, index].max(), abs=1e-5)


def test_attaching_a_path_fits_the_normalisation_and_is_one_step(
    desk: DataDesk, tmp_path: Path
) -> None:
    told: list[Attachment] = []
    desk.data.attach_path(write_pictures(tmp_path / "pets"), told.append)
    desk.settle(lambda: desk.data.status == "ready")
    assert told[0].found.kind == "folder of images"
    assert desk.data.data["normalization"] == "unit"
    assert desk.document.history.position == 1
    desk.data.attach_path(write_table(tmp_path), told.append)
    desk.settle(lambda: desk.data.status == "ready")
    assert desk.data.data["normalization"] == "standard"
    assert desk.document.history.position == 2


def test_a_path_that_is_no_data_changes_nothing_and_is_said(desk: DataDesk, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no table here\n")
    said: list[StudioError] = []
    desk.data.attach_path(tmp_path / "none.csv", failed=said.append)
    desk.settle()
    assert len(said) == 1
    assert desk.document.history.position == 0
    assert desk.data.status == "none"


def test_reading_a_large_table_ends_when_the_window_is_closed(
    desk: DataDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = HeldReading(monkeypatch)
    path = tmp_path / "large.csv"
    row = "1.5,2.5,3.5,4.5,yes\n"
    path.write_text("a,b,c,d,e\n" + row * 400_000)
    desk.data.attach_path(path)
    assert reading.held.wait(60)
    desk.tasks.close()
    # Nothing was read behind the place where it was asked.
    assert reading.asked == HeldReading.HELD_AT
    assert desk.document.history.position == 0


def test_data_whose_reading_was_given_up_are_read_when_asked_for_again(tmp_path: Path) -> None:
    path = write_table(tmp_path)
    cache, settings = (
        DatasetCache(),
        DataSettings.from_json({"source": "csv", "path": path.name, "drop": ["id", "town"]}),
    )

    def give_up() -> None:
        raise CancelledError("was stopped")

    with interrupted_by(give_up), pytest.raises(CancelledError):
        cache.open(settings, tmp_path)
    assert len(cache.open(settings, tmp_path).x)


def test_every_bad_row_is_listed_and_can_be_left_out_in_one_step(
    desk: DataDesk, tmp_path: Path
) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(BAD_TABLE)
    before = path.read_bytes()
    desk.data.attach_path(path)
    desk.settle(lambda: desk.data.status == "failed")
    rows = desk.data.problems.rows
    assert [problem.row for problem in rows] == [3, 4, 5, 6, 7]
    assert [problem.column for problem in rows] == ["rooms", "area", "", "area", "kind"]
    assert all(problem.file == "bad.csv" for problem in rows)
    assert desk.data.problems.can_skip
    assert desk.document.data_facts is None
    assert desk.data.problems.kinds == (
        "3 cells without a number: row 3 (rooms), row 4 (area), row 6 (area)",
        "1 row without a usable label: row 7 (kind)", "1 row of another width: row 5",
    )  # fmt: skip
    assert desk.data.problems.skip_text == "Skip 5 rows"
    desk.data.cleaning.skip()
    desk.settle(lambda: desk.data.status == "ready")
    assert desk.data.summary is not None
    assert desk.data.summary.samples == 2
    assert desk.data.cleaning.summary == "5 rows skipped"
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["bad.csv"]
    desk.document.undo()
    desk.settle(lambda: desk.data.status == "failed")


def test_a_damaged_picture_is_listed_by_its_name(desk: DataDesk, tmp_path: Path) -> None:
    folder = write_pictures(tmp_path / "pets")
    for name in ("cat/3.png", "dog/1.png"):
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole[: len(whole) // 2])
    desk.data.attach_path(folder)
    desk.settle(lambda: desk.data.status == "failed" and bool(desk.data.problems.rows))
    assert {p.file for p in desk.data.problems.rows} >= {"cat/3.png", "dog/1.png"}


def test_a_file_that_was_mended_is_read_anew(desk: DataDesk, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,x\noops,y\n")
    desk.data.attach_path(path)
    desk.settle(lambda: desk.data.status == "failed")
    path.write_text("a,b\n1,x\n2,y\n3,x\n4,y\n5,x\n")
    desk.data.reload()
    desk.settle(lambda: desk.data.status == "ready")
    settings = desk.data.settings
    assert settings is not None
    assert len(desk.data.cache.open(settings, desk.document.folder)) == 5
    path.write_text("a,b\n1,x\n2,y\n3,x\n4,y\n5,x\n6,y\n")
    assert len(desk.data.cache.open(settings, desk.document.folder)) == 6


def test_compiles_and_views_share_one_reading(desk: DataDesk, tmp_path: Path) -> None:
    opened: list[DataSettings] = []

    class Counting(DataSettings):
        def open(self, base: Path) -> Dataset:
            opened.append(self)
            return super().open(base)

    settings = Counting({"source": "moons"})
    one = desk.data.cache.open(settings, tmp_path)
    assert desk.data.cache.open(settings, tmp_path) is one
    assert len(opened) == 1


def test_an_added_input_is_joined_to_the_layer_that_waits_for_one(desk: DataDesk) -> None:
    state = add_layer(desk.document.state, "Flatten")
    (flatten,) = state.nodes
    desk.document.apply("Add", add_layer(state, "Dense", config={"units": 10}, after=flatten))
    desk.data.choose("digits")
    desk.settle()
    desk.data.take_offer()
    (entry,) = (n for n in desk.document.state.layers() if n.type_name == "Input")
    assert desk.document.state.nodes[flatten].sources == (entry.id,)
    assert desk.document.report.is_valid


def test_an_added_input_is_joined_to_none_where_several_wait(desk: DataDesk) -> None:
    state = add_layer(add_layer(desk.document.state, "Flatten"), "Flatten")
    desk.document.apply("Add", state)
    desk.data.choose("digits")
    desk.settle()
    desk.data.take_offer()
    assert not list(desk.document.state.wires())


def test_the_input_is_offered_to_fit_and_never_changed_unasked(desk: DataDesk) -> None:
    desk.data.choose("digits")
    desk.settle()
    offer = desk.data.offer
    assert offer is not None
    assert offer.text == "Add an input of [8,8,1]"
    assert not list(desk.document.state.layers())
    desk.data.take_offer()
    assert desk.data.offer is None
    (entry,) = desk.document.state.layers()
    assert entry.config["shape"] == [8, 8, 1]
    desk.document.apply("Add", add_layer(desk.document.state, "Flatten", after=entry.id))
    desk.data.choose("iris")
    desk.settle()
    offer = desk.data.offer
    assert offer is not None
    assert "[8,8,1]" in offer.why
    desk.data.take_offer()
    assert desk.document.state.nodes[entry.id].config["shape"] == [4]
    assert desk.document.history.undo_text == "Set the input to [4]"


def test_fields_are_refused_in_the_engines_own_words(desk: DataDesk) -> None:
    desk.data.choose("digits")
    desk.settle()
    with pytest.raises(DataError, match="between 0 and 1"):
        desk.data.set_field("test_fraction", 1.5)
    with pytest.raises(ParameterError, match="unknown normalisation"):
        desk.data.set_field("normalization", "upside down")
    desk.data.set_field("test_fraction", 0.3, "drag")
    desk.data.set_field("test_fraction", 0.4, "drag")
    assert desk.document.history.position == 2
    desk.settle()
    assert desk.data.summary is not None
    assert len(desk.data.summary.parts[-1]) == 1797 - int(1797 * 0.6)


def test_options_of_generated_sets_are_checked_and_defaults_left_out(desk: DataDesk) -> None:
    desk.data.choose("spirals")
    desk.data.set_option("classes", 3)
    assert desk.data.data["classes"] == 3
    with pytest.raises(ParameterError, match="from 2 to 64"):
        desk.data.set_option("classes", 1)
    desk.data.set_option("classes", 2)
    assert "classes" not in desk.data.data
    desk.settle()


def test_saving_into_another_folder_keeps_the_data_in_reach(desk: DataDesk, tmp_path: Path) -> None:
    home, away = tmp_path / "home", tmp_path / "away"
    home.mkdir()
    away.mkdir()
    write_table(home)
    desk.document.save(home / "p.glassbox")
    desk.data.attach_path(home / "houses.csv")
    desk.settle(lambda: desk.data.status == "ready")
    assert desk.data.data["path"] == "houses.csv"
    desk.data.before_save(away / "p.glassbox")
    desk.document.save(away / "p.glassbox")
    desk.settle(lambda: desk.data.status == "ready")
    assert desk.data.data["path"] == str(home / "houses.csv")


def test_samples_are_paged_by_class_without_copying(desk: DataDesk) -> None:
    desk.data.choose("digits")
    desk.settle()
    summary = desk.data.summary
    assert summary is not None
    part = summary.training
    browser = SampleBrowser(part, klass=3)
    assert len(browser) == part.counts[3]
    page = browser.page(5, 7)
    assert [sample.label for sample in page] == ["3"] * 7
    assert all(np.shares_memory(sample.values, part.dataset.x) for sample in page)
    assert browser.place_of(page[2].index) == 7
    assert browser.page(len(browser) - 2, 10)[-1].index == browser.sample(len(browser) - 1).index


def test_pictures_map_the_stated_range_to_black_and_white() -> None:
    cells = np.array([[[0], [8]], [[16], [4]]], np.uint8)
    assert picture(cells, (0.0, 16.0)).tolist() == [[0, 128], [255, 64]]
    assert picture(cells.astype(np.float32), None).tolist() == [[0, 128], [255, 64]]
    assert picture(np.zeros((2, 2, 4), np.uint8), (0.0, 255.0)).shape == (2, 2, 3)
    assert picture(np.full((2, 2, 1), 7.0), None).tolist() == [[0, 0], [0, 0]]


def test_every_option_of_every_loader_can_be_set_in_the_window() -> None:
    """What no form shows, columns excepted, nobody could use without editing the project's file."""
    # What goes to inputs and outputs, and with which weights, is no plain value.
    mapped = {"inputs", "targets", "weights"}
    elsewhere = {
        "fill",
        "categories",
        "path",
        "x",
        "y",
        "images",
        "labels",
        "label",
        "drop",
    } | mapped
    for source, options in OPTIONS.items():
        shown = {option.name for option in FORMS[source].options}
        assert set(options) - elsewhere <= shown, source


@pytest.mark.parametrize("source", [f.source for f in FORMS.values() if f.origin == "generated"])
def test_a_form_starts_with_the_values_a_generator_has_by_itself(
    source: str, tmp_path: Path
) -> None:
    given = {option.name: option.plain_default for option in FORMS[source].options}
    assert set(given) == set(OPTIONS[source])
    made, plain = (open_dataset({"source": source, **values}, tmp_path) for values in (given, {}))
    assert made.sha256 == plain.sha256


def test_options_of_every_kind_are_stored_as_the_loaders_read_them() -> None:
    form = FORMS["npz"]
    made = form.with_value({"source": "npz"}, "class_names", " cat,  dog ,")
    assert made["class_names"] == ["cat", "dog"]
    assert form.value(made, "class_names") == "cat, dog"
    assert "class_names" not in form.with_value(made, "class_names", "")
    made = form.with_value(made, "range", [0, 15.5])
    assert made["range"] == [0.0, 15.5]
    with pytest.raises(ParameterError):
        form.with_value(made, "x_key", 3)
    with pytest.raises(ParameterError):
        form.with_value(made, "class_names", ["a"])
