"""Models become projects in the background; weights go through a table."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.errors import CheckpointError, DataError, StudioError
from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.formats.npz import save_npz
from studio.engine.interop.file_format import FileFormat, file_formats
from studio.engine.layers.named_parameters import public_weights
from studio.engine.train.importing.matching import match_weights
from studio.engine.train.importing.project import ImportedProject
from studio.engine.train.importing.report import FILE, saved_report
from studio.engine.train.project.project import Project
from studio.engine.train.runs.run_folder import RunFolder, list_runs
from studio.engine.train.weights import initial_weights
from studio.session.core.tasks import TaskHandle
from studio.session.data.cache import DatasetCache
from studio.session.document.document import Document
from studio.session.document.edits.layers import rename
from studio.session.importing.importing import FOLDER, ImportModel
from studio.session.importing.table import FRESH, LEFT_OUT, MatchingTable
from tests.engine.train.importing.model_format import seeded_format, write_seeded
from tests.engine.train.small_tasks import mlp
from tests.session.desk import Desk


class ImportDesk(Desk):
    """A desk with the model of imports, and what it told."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.made: list[ImportedProject] = []
        self.tables: list[MatchingTable] = []
        self.recorded: list[tuple[RunFolder, str]] = []
        self.model = ImportModel(
            self.current, self.tasks, DatasetCache(), folder / "user", self.imported
        )
        self.model.made.connect(self.hear_made)
        self.model.matched.connect(self.hear_table)
        self.model.recorded.connect(self.hear_run)
        self.model.failed.connect(self.hear_error)

    def hear_made(self, made: ImportedProject) -> None:
        self.made.append(made)

    def hear_table(self, table: MatchingTable) -> None:
        self.tables.append(table)

    def hear_run(self, run: RunFolder, title: str) -> None:
        self.recorded.append((run, title))

    def hear_error(self, error: StudioError) -> None:
        self.failures.append(error)

    def imported(self) -> list[RunFolder]:
        path = self.document.path
        return [] if path is None else list(reversed(list_runs(Project.load(path))))

    def with_project(self) -> Path:
        path = Project("net", mlp()).save(self.folder / "net.glassbox")
        self.open(path)
        return path


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[ImportDesk]:
    file_formats()
    made = ImportDesk(tmp_path)
    with seeded_format():
        yield made
    made.tasks.close()


def arrays(seed: int = 3) -> dict[str, np.ndarray]:
    return dict(public_weights(mlp(), initial_weights(mlp(), seed)))


def names_in(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_a_model_becomes_a_project_beside_its_file(desk: ImportDesk) -> None:
    source = write_seeded(desk.folder / "net.seeded", mlp())
    desk.model.open_model(source)
    assert desk.model.task is not None
    assert desk.model.why_not() == "an import is running"
    desk.settle(lambda: bool(desk.made))
    assert desk.made[0].project.path == desk.folder / "net.glassbox"
    assert desk.model.task is None
    desk.open(desk.folder / "net.glassbox")
    report = desk.model.last_report()
    assert report == desk.made[0].report
    assert desk.model.why_no_report() == ""


def test_the_project_is_laid_out_when_it_is_opened(desk: ImportDesk) -> None:
    desk.model.open_model(write_seeded(desk.folder / "net.seeded", mlp()))
    desk.settle(lambda: bool(desk.made))
    places = [(n.x, n.y) for n in desk.open(desk.folder / "net.glassbox").state.layers()]
    assert len(set(places)) == 3


def test_a_name_that_is_taken_gets_a_number(desk: ImportDesk) -> None:
    source = write_seeded(desk.folder / "net.seeded", mlp())
    (desk.folder / "net.glassbox").write_text("mine")
    (desk.folder / "net-2.runs").mkdir()
    desk.model.open_model(source)
    desk.settle(lambda: bool(desk.made))
    assert desk.made[0].project.path == desk.folder / "net-3.glassbox"
    assert (desk.folder / "net.glassbox").read_text() == "mine"


def test_a_folder_that_cannot_be_written_leads_to_the_user_s(
    desk: ImportDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_seeded(desk.folder / "net.seeded", mlp())
    monkeypatch.setattr("os.access", lambda *_: False)
    desk.model.open_model(source)
    desk.settle(lambda: bool(desk.made))
    assert desk.made[0].project.path == desk.folder / "user" / FOLDER / "net.glassbox"


def test_a_damaged_file_is_told_and_leaves_nothing(desk: ImportDesk) -> None:
    (desk.folder / "net.seeded").write_bytes(b"SEEDED{")
    desk.model.open_model(desk.folder / "net.seeded")
    desk.settle()
    assert [each.message for each in desk.failures] == ["the network cannot be read"]
    assert desk.model.task is None
    assert names_in(desk.folder) == ["net.seeded"]


class Waiting:
    """Holds the reader of a model until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached, self.gate = threading.Event(), threading.Event()
        form = type(FileFormat.members["seeded"])
        read = form.read_model

        def held(this: FileFormat, path: Path, progress: object = None) -> object:
            self.reached.set()
            assert self.gate.wait(60)
            return read(this, path, progress)  # type: ignore[arg-type]

        monkeypatch.setattr(form, "read_model", held)


def test_a_cancelled_import_leaves_nothing_and_says_nothing(
    desk: ImportDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Waiting(monkeypatch)
    desk.model.open_model(write_seeded(desk.folder / "net.seeded", mlp()))
    assert held.reached.wait(60)
    with pytest.raises(DataError, match="an import is running"):
        desk.model.open_model(desk.folder / "other.seeded")
    desk.model.cancel()
    assert desk.model.why_not() == ""
    held.gate.set()
    desk.settle()
    assert (desk.made, desk.failures) == ([], [])
    assert names_in(desk.folder) == ["net.seeded"]


def test_one_that_is_cancelled_in_the_list_of_tasks_is_over(
    desk: ImportDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Waiting(monkeypatch)
    desk.model.open_model(write_seeded(desk.folder / "net.seeded", mlp()))
    task = desk.model.task
    assert isinstance(task, TaskHandle)
    task.cancel()
    held.gate.set()
    desk.settle(lambda: desk.model.task is None)
    assert names_in(desk.folder) == ["net.seeded"]


def test_closing_while_a_model_is_read_leaves_nothing(
    desk: ImportDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Waiting(monkeypatch)
    desk.model.open_model(write_seeded(desk.folder / "net.seeded", mlp()))
    assert held.reached.wait(60)
    threading.Timer(0.05, held.gate.set).start()
    desk.tasks.close()
    assert names_in(desk.folder) == ["net.seeded"]


# -- weights --------------------------------------------------------------------------------------


def test_weights_of_the_same_names_become_a_run_at_once(desk: ImportDesk) -> None:
    desk.with_project()
    save_npz(desk.folder / "w.npz", arrays())
    desk.model.read_weights(desk.folder / "w.npz")
    desk.settle(lambda: bool(desk.recorded))
    assert (desk.tables, desk.recorded[0][1]) == ([], "")


def test_other_names_are_confirmed_in_a_table(desk: ImportDesk) -> None:
    desk.with_project()
    save_npz(desk.folder / "w.npz", {f"a{i}": each for i, each in enumerate(arrays().values())})
    desk.model.read_weights(desk.folder / "w.npz")
    desk.settle(lambda: bool(desk.tables))
    table = desk.tables[0]
    assert desk.recorded == []
    assert table.sentence() == "4 of 4 arrays taken, 4 by their shape alone"
    changes: list[str] = []

    def heard() -> None:
        changes.append(table.sentence())

    table.changed.connect(heard)
    table.take("a0", False)
    table.take("a0", False)
    table.take("none", False)
    assert changes == ["3 of 4 arrays taken, 3 by their shape alone; 1 parameter begins fresh"]
    lines = {line.key: line for line in table.lines()}
    assert (lines["array a0"].word, lines["array a0"].is_taken) == (LEFT_OUT, False)
    assert lines["array a0"].parameter == "dense/kernel"
    assert lines["array a1"].word == "By shape"
    assert lines["parameter dense/kernel"].word == FRESH
    desk.model.take_matched()
    desk.settle(lambda: bool(desk.recorded))
    run, _ = desk.recorded[0]
    tensors = Checkpoint.load(run.checkpoint_path("final")).tensors
    given, fresh = initial_weights(mlp(), 3), initial_weights(mlp(), 0)
    np.testing.assert_array_equal(tensors["dense_1/kernel"], given["dense_1/kernel"])
    np.testing.assert_array_equal(tensors["dense/kernel"], fresh["dense/kernel"])
    report = saved_report(run)
    assert report is not None
    assert "nothing was taken for dense/kernel" in report.remarks
    assert desk.model.table is None


def test_a_table_that_takes_nothing_cannot_be_confirmed(desk: ImportDesk) -> None:
    desk.with_project()
    save_npz(desk.folder / "w.npz", {"a": np.zeros(3), "dense/kernel": np.zeros((4, 4))})
    desk.model.read_weights(desk.folder / "w.npz")
    desk.settle(lambda: bool(desk.tables))
    why = "none of its arrays fits a parameter of the network"
    assert desk.tables[0].why_not() == why
    states = [(line.name, line.word, line.can_take) for line in desk.tables[0].lines()[:2]]
    assert states == [("a", "No match", False), ("dense/kernel", "Wrong shape", False)]
    with pytest.raises(DataError, match=why):
        desk.model.take_matched()
    desk.model.leave_table()
    desk.model.take_matched()
    desk.settle()
    assert desk.recorded == []


def test_leaving_every_array_out_is_named() -> None:
    table = MatchingTable(match_weights(mlp(), {"dense/bias": np.zeros(8)}))
    assert table.why_not() == ""
    table.take("dense/bias", False)
    assert table.why_not() == "no array is taken"
    table.take("dense/bias", True)
    assert table.sentence() == "1 of 1 array taken; 3 parameters begin fresh"


def test_choices_by_hand_are_undone_and_made_again() -> None:
    arrays = {"a": np.zeros((8, 2)), "b": np.ones((8, 2)), "dense/bias": np.zeros(8)}
    table = MatchingTable(match_weights(mlp(), arrays))
    told: list[str] = []

    def heard() -> None:
        told.append(table.sentence())

    table.changed.connect(heard)
    assert (table.can_undo, table.can_redo) == (False, False)
    assert table.choices("a") == ("dense_1/kernel",)
    table.choose("a", "dense_1/kernel")
    assert table.choices("b") == ()
    assert table.choices("a") == ("dense_1/kernel",)
    assert told == ["2 of 3 arrays taken, 1 by hand; 2 parameters begin fresh"]
    # Left out, its parameter is free for the other, and it cannot come back to it.
    table.choose("a", "")
    table.choose("b", "dense_1/kernel")
    assert (table.parameter_of("a"), table.parameter_of("b")) == ("", "dense_1/kernel")
    table.take("a", True)
    assert table.parameter_of("a") == ""
    with pytest.raises(CheckpointError, match="nothing is taken for"):
        table.choose("a", "dense_1/kernel")
    table.choose("b", "dense_1/kernel")
    assert len(told) == 3
    for wanted in (("", ""), ("dense_1/kernel", ""), ("", "")):
        table.undo()
        assert (table.parameter_of("a"), table.parameter_of("b")) == wanted
    table.undo()
    assert len(told) == 6
    assert (table.can_undo, table.can_redo) == (False, True)
    table.redo()
    assert table.parameter_of("a") == "dense_1/kernel"
    table.take("dense/bias", False)
    assert (table.can_undo, table.can_redo) == (True, False)
    table.redo()
    assert table.parameter_of("dense/bias") == ""


def test_weights_need_a_saved_project(desk: ImportDesk) -> None:
    save_npz(desk.folder / "w.npz", arrays())
    with pytest.raises(DataError, match="save the project"):
        desk.model.read_weights(desk.folder / "w.npz")
    desk.with_project()
    assert desk.model.why_not_weights() == ""
    node = next(each for each in desk.document.state.layers() if each.name == "dense")
    desk.document.apply("other", rename(desk.document.state, node.id, "other"))
    assert "save the project" in desk.model.why_not_weights()


def test_a_table_of_a_document_that_was_left_is_dropped(desk: ImportDesk) -> None:
    desk.with_project()
    save_npz(desk.folder / "w.npz", {"a": np.zeros((2, 8))})
    desk.model.read_weights(desk.folder / "w.npz")
    desk.settle(lambda: bool(desk.tables))
    desk.document = Document.new()
    desk.model.follow()
    assert desk.model.table is None


@pytest.mark.parametrize("content", [b"", b"words", b"PK\x03\x04" + bytes(30)])
def test_damaged_weights_are_told(desk: ImportDesk, content: bytes) -> None:
    desk.with_project()
    (desk.folder / "w.npz").write_bytes(content)
    desk.model.read_weights(desk.folder / "w.npz")
    desk.settle()
    assert len(desk.failures) == 1
    assert desk.failures[0].code == "format"


def test_a_project_without_imports_has_no_report(desk: ImportDesk) -> None:
    assert desk.model.why_no_report() == "nothing was imported into this project"
    desk.with_project()
    assert desk.model.last_report() is None
    save_npz(desk.folder / "w.npz", arrays())
    desk.model.read_weights(desk.folder / "w.npz")
    desk.settle(lambda: bool(desk.recorded))
    assert not (desk.recorded[0][0].path / FILE).exists()
    assert desk.model.last_report() is None
