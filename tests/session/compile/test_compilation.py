"""The document compiled continuously: when, of what, and what becomes of results."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from studio.engine.compiler.target import CPU, GL, Target
from studio.engine.core.errors import DataError
from studio.engine.isa.text import format_program
from studio.engine.train.data.dataset import Dataset
from studio.engine.train.network.network import Network
from studio.engine.train.network.programs import Programs
from studio.engine.train.project.data_settings import DataSettings
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.session.compile.compilation import Compilation
from studio.session.core import entities
from studio.session.core.scheduling import ManualScheduler
from studio.session.core.tasks import TaskList
from studio.session.document.document import Document
from studio.session.document.edits.layers import set_option, set_preview
from studio.session.document.edits.places import move_by
from studio.session.document.edits.removal import delete
from studio.session.document.edits.sections import set_data, set_notes, set_training
from studio.session.document.report import DataFacts
from tests.instruction_view.programs import SAMPLES, sample_path


class Bench:
    """A compilation with a clock turned by hand, and a count of data sets opened."""

    def __init__(self) -> None:
        self.clock = ManualScheduler()
        self.tasks = TaskList(self.clock)
        self.target: Target = GL
        self.opened: list[str] = []
        self.data: dict[str, Dataset] = {}
        self.hold = threading.Event()
        self.hold.set()
        self.compilation = Compilation(self.clock, self.tasks, lambda: self.target, self._dataset)
        self.changes = 0
        self.compilation.changed.connect(self._changed)

    def _dataset(self, settings: DataSettings, folder: Path) -> Dataset:
        self.hold.wait(10)
        key = repr(settings.to_json())
        if key not in self.data:
            self.opened.append(key)
            self.data[key] = settings.open(folder)
        return self.data[key]

    def _changed(self) -> None:
        self.changes += 1

    def settle(self, seconds: float = 0.2) -> Compilation:
        """Let the time pass and the compile finish."""
        self.clock.advance(seconds)
        deadline = time.monotonic() + 20
        while self.compilation.is_compiling and time.monotonic() < deadline:
            self.clock.advance(0.0)
            time.sleep(0.001)
        assert not self.compilation.is_compiling
        return self.compilation

    def follow(self, name: str) -> Document:
        document = Document.open(sample_path(name))
        self.compilation.follow(document)
        self.settle(0.0)
        return document


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.hold.set()
    made.tasks.close()


@pytest.mark.parametrize("target", [CPU, GL], ids=["cpu", "gl"])
@pytest.mark.parametrize("name", SAMPLES)
def test_programs_are_those_the_command_line_compiles(
    bench: Bench, name: str, target: Target
) -> None:
    bench.target = target
    bench.follow(name)
    task = Task.of_project(Project.load(sample_path(name)))
    result = bench.compilation.result
    assert result is not None
    for mode in ("train", "infer"):
        expected = Programs(task).compile(mode, task.settings.level, target)
        assert format_program(result.programs[mode].program) == format_program(expected)
    assert result.program.mode == "train"
    assert result.task.data_hash == task.data_hash
    assert result.plan.peak_bytes == max(result.main.picture.live_bytes)
    assert bench.compilation.provenance is result.provenance


def test_an_edit_is_compiled_once_things_are_quiet(bench: Bench) -> None:
    document = bench.follow("digits-cnn")
    before = bench.compilation.result
    for filters in (17, 18, 19):
        document.apply("Filters", set_option(document.state, "conv1", "filters", filters))
        bench.clock.advance(0.1)
    assert bench.compilation.result is before
    assert bench.compilation.stale_edits == 3
    assert bench.compilation.is_stale
    result = bench.settle().result
    assert result is not None
    assert result.program.tensors.named("conv1/kernel").shape[-1] == 19
    assert result.state is document.state
    assert bench.compilation.stale_edits == 0
    assert not bench.compilation.is_stale


def test_edits_that_no_program_depends_on_compile_nothing(bench: Bench) -> None:
    document = bench.follow("digits-cnn")
    before = bench.compilation.result
    document.apply("Move", move_by(document.state, ["conv1"], 40, 8))
    document.apply("Note", set_notes(document.state, "to be done"))
    document.apply("Preview", set_preview(document.state, ["conv1"], "full"))
    assert not bench.compilation.is_compiling
    assert bench.compilation.stale_edits == 0
    assert bench.settle().result is before


def test_a_program_that_comes_out_the_same_stays_the_same(bench: Bench) -> None:
    document = bench.follow("digits-cnn")
    before = bench.compilation.result
    assert before is not None
    document.apply("Epochs", set_training(document.state, {"epochs": 77}))
    after = bench.settle().result
    assert after is not None
    assert after is not before
    assert after.task.settings.epochs == 77
    assert after.main is before.main


def test_an_overtaken_compile_is_dropped(bench: Bench) -> None:
    document = bench.follow("digits-cnn")
    bench.hold.clear()
    document.apply("Filters", set_option(document.state, "conv1", "filters", 20))
    bench.clock.advance(0.2)
    assert bench.compilation.is_compiling
    document.apply("Filters", set_option(document.state, "conv1", "filters", 21))
    seen = bench.changes
    bench.hold.set()
    result = bench.settle().result
    assert result is not None
    assert result.program.tensors.named("conv1/kernel").shape[-1] == 21
    assert bench.changes == seen + 1


def test_an_invalid_document_keeps_the_program_and_says_why(bench: Bench) -> None:
    document = bench.follow("digits-cnn")
    before = bench.compilation.result
    document.apply("Filters", set_option(document.state, "conv1", "kernel_size", [9, 9]))
    document.apply("Padding", set_option(document.state, "conv1", "padding", "valid"))
    compilation = bench.settle()
    assert compilation.result is before
    assert compilation.is_stale
    assert compilation.stale_edits == 2
    assert compilation.stop is not None
    assert compilation.stop.node == "conv1"
    assert compilation.error is compilation.stop.error
    assert document.report.errors[0].message == compilation.stop.error.message
    document.undo()
    document.undo()
    compilation = bench.settle()
    assert compilation.stop is None
    assert not compilation.is_stale


def test_what_the_compiler_refuses_is_said_with_its_stage(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = bench.follow("digits-cnn")
    before = bench.compilation.result

    def refuse(self: Programs, mode: str, *args: object, **options: object) -> None:
        raise DataError("no", who="conv2")

    monkeypatch.setattr(Programs, "compile", refuse)
    document.apply("Filters", set_option(document.state, "conv1", "filters", 20))
    compilation = bench.settle()
    assert compilation.result is before
    assert compilation.stop is not None
    assert (compilation.stop.node, compilation.stop.stage) == ("conv2", "lower the network")
    assert compilation.is_stale


def test_data_is_opened_once_and_divided_only_when_it_must_be(bench: Bench) -> None:
    document = bench.follow("digits-cnn")
    first = bench.compilation.result
    assert first is not None
    for filters in (17, 18):
        document.apply("Filters", set_option(document.state, "conv1", "filters", filters))
        bench.settle()
    assert len(bench.opened) == 1
    second = bench.compilation.result
    assert second is not None
    assert second.task.training is first.task.training
    document.apply("Validation", set_training(document.state, {"validation": "tail"}))
    third = bench.settle().result
    assert third is not None
    assert third.task.training is not first.task.training
    assert len(bench.opened) == 1
    data = {**(document.state.data or {}), "normalization": "standard"}
    document.apply("Data", set_data(document.state, data))
    fourth = bench.settle().result
    assert fourth is not None
    fresh = Task.of_project(document.project())
    assert len(fourth.task.training_samples()) == len(fresh.training_samples())
    assert fourth.task.spec.inputs[0].scale == fresh.spec.inputs[0].scale


def test_a_task_of_an_edit_is_the_task_made_anew(bench: Bench) -> None:
    document = bench.follow("digits-mlp")
    name = next(n.id for n in document.state.layers() if n.type_name == "Dense")
    document.apply("Units", set_option(document.state, name, "units", 24))
    document.apply("Loss", set_training(document.state, {"batch_size": 16}))
    result = bench.settle().result
    assert result is not None
    fresh = Task.of_project(document.project())
    made = result.task
    assert (made.losses, made.settings, made.class_names, made.data_hash) == (
        fresh.losses, fresh.settings, fresh.class_names, fresh.data_hash,
    )  # fmt: skip
    assert np.array_equal(made.training_samples().inputs[0], fresh.training_samples().inputs[0])
    assert format_program(result.program) == format_program(Programs(fresh).compile("train", 2, GL))
    assert result.main.batch == 16


def test_without_its_data_there_is_still_the_inference_program(bench: Bench) -> None:
    document = Document.open(sample_path("iris"))
    document.apply("Data", set_data(document.state, {"source": "csv", "path": "nowhere.csv"}))
    bench.compilation.follow(document)
    compilation = bench.settle(0.0)
    assert compilation.result is not None
    assert set(compilation.result.programs) == {"infer"}
    assert compilation.error is compilation.result.data_error
    assert isinstance(compilation.error, DataError)
    assert compilation.shown is compilation.result.programs["infer"]


def test_an_empty_document_has_no_program(bench: Bench) -> None:
    document = Document.new("new")
    bench.compilation.follow(document)
    compilation = bench.settle(0.0)
    assert compilation.result is None
    assert compilation.error is not None
    assert compilation.shown is None
    assert len(compilation.provenance) == 0
    compilation.follow(None)
    assert compilation.error is None


def test_the_inference_program_and_level_zero_on_request(bench: Bench) -> None:
    bench.follow("digits-resnet")
    compilation = bench.compilation
    trained = compilation.shown
    assert trained is not None
    compilation.show("infer")
    assert compilation.shown is not None
    assert compilation.shown.program.mode == "infer"
    assert compilation.provenance is compilation.shown.provenance
    compilation.show("train")
    compilation.set_level(0)
    bench.settle()
    assert compilation.shown is not None
    assert "FUSE" in {line.mnemonic for line in trained.program}
    assert "FUSE" not in {line.mnemonic for line in compilation.shown.program}
    compilation.set_level(None)
    bench.settle()
    assert format_program(compilation.shown.program) == format_program(trained.program)


def test_a_tensor_that_is_looked_at_stays_stored(bench: Bench) -> None:
    bench.follow("digits-cnn")
    compilation = bench.compilation
    assert compilation.shown is not None
    assert compilation.shown.program.tensors.named("conv1/linear").register
    compilation.keep({"conv1/linear", "gone"})
    bench.settle()
    assert not compilation.shown.program.tensors.named("conv1/linear").register


def test_every_pass_is_there_and_they_join_up(bench: Bench) -> None:
    bench.follow("digits-cnn")
    shown = bench.compilation.shown
    assert shown is not None
    steps = shown.passes
    names = [step.name for step in steps]
    assert names[0] == "fold_constants"
    assert {"differentiate", "emit_updates"} < set(names)
    for one, next_one in pairwise(steps):
        assert next_one.before is one.after
    assert steps[-1].after is shown.program


@pytest.mark.gl
def test_kernels_of_an_executable_are_shown_when_it_runs_this_program(bench: Bench) -> None:
    from studio.engine.gl.backend import GlBackend

    bench.follow("iris")
    compilation = bench.compilation
    compilation.show("infer")
    assert compilation.result is not None
    before = compilation.shown
    assert before is not None
    assert before.kernels is None
    backend = GlBackend()
    with Network(compilation.result.task, backend) as network:
        network.initialise(0, "infer")
        compilation.use_executables([network.executable("infer", before.batch + 1)])
        assert compilation.shown is before
        executable = network.executable("infer", before.batch)
        compilation.use_executables([executable])
    shown = compilation.shown
    assert shown is not None
    assert shown.kernels is not None
    assert shown.rows is before.rows
    # A compile that comes out the same keeps them.
    compilation.compile_now()
    bench.settle()
    assert compilation.shown is not None
    assert compilation.shown.kernels == shown.kernels
    backend.close()
    for entry, group in executable.planned:  # type: ignore[attr-defined]
        assert [run.groups for run in shown.kernels.of(entry.index)] == [p.groups for p in group]
        line = entities.instruction(shown.provenance.key_of(entry.index))
        assert len(shown.provenance.related(line, "kernel")) == len(group)


def test_a_recompile_for_another_device_asks_for_its_target(bench: Bench) -> None:
    bench.follow("digits-cnn")
    compilation = bench.compilation
    assert compilation.shown is not None
    assert compilation.shown.kernels is None
    bench.target = CPU
    compilation.compile_now()
    bench.settle()
    assert compilation.shown.target is CPU
    assert compilation.shown.kernels is not None


def test_following_another_document_forgets_the_first(bench: Bench) -> None:
    first = bench.follow("digits-cnn")
    bench.follow("iris")
    iris = bench.compilation.result
    first.apply("Delete", delete(first.state, ["pool"]))
    assert bench.compilation.stale_edits == 0
    assert bench.settle().result is iris


def test_what_becomes_known_of_the_data_meanwhile_compiles_nothing_anew(bench: Bench) -> None:
    bench.hold.clear()
    results: list[object] = []

    def note() -> None:
        results.append(bench.compilation.result)

    bench.compilation.changed.connect(note)
    document = Document.open(sample_path("iris"))
    bench.compilation.follow(document)
    document.set_data_facts(DataFacts((4,), "table", classes=3))
    bench.hold.set()
    bench.settle(0.0)
    bench.settle(0.3)
    assert len({id(each) for each in results if each is not None}) == 1
