"""An exported file is proven by another process, and whatever is wrong with it is found."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from studio.engine.core.errors import FormatError
from studio.engine.core.progress import Progress
from studio.engine.formats import safetensors
from studio.engine.formats.gbasm import load_gbasm, save_gbasm
from studio.engine.formats.gbi import load_gbi, save_gbi
from studio.engine.formats.npz import load_npz, save_npz
from studio.engine.interop.file_format import file_formats, format_named
from studio.engine.isa.ops.data import Normalize
from studio.engine.isa.program import Program
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.layers.merging import Add
from studio.engine.layers.shaping import Flatten
from studio.engine.train.devices import open_backend
from studio.engine.train.export.check import check as checking
from studio.engine.train.export.check.answers import Difference, compare
from studio.engine.train.export.check.check import ExportCheck, Written, check_files
from studio.engine.train.export.check.process import file_hash
from studio.engine.train.export.exporting import exportable
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.data_settings import DataSettings
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.weights import initial_weights
from tests.engine.train.trained_projects import DIGITS, classifier, train
from tests.engine.train.two_inputs import two_inputs

CHECKED = tuple(form.name for form in file_formats() if form.can_write and form.can_read)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Trained, Project]]:
    _, run = train(tmp_path_factory.mktemp("trained"))
    with open_backend("cpu") as opened, Trained.of_run(run, opened.backend) as trained:
        yield trained, run.project()


def export(trained: Trained, form: str, folder: Path) -> Path:
    path = folder / f"model{format_named(form).ending}"
    format_named(form).write(exportable(trained), path)
    return path


def found_of(
    trained: Trained,
    project: Project | None,
    form: str,
    path: Path,
    progress: Progress | None = None,
) -> ExportCheck | FormatError:
    file = Written(format_named(form), path, file_hash(path))
    return check_files(trained, [file], exportable(trained), project, progress)[0]


def check(*asked: Any) -> ExportCheck:
    found = found_of(*asked)
    assert isinstance(found, ExportCheck), found
    return found


def changed(path: Path, rewrite: Program) -> None:
    """Write another program into an instruction file, its weights as they were."""
    save_gbi(path, rewrite, load_gbi(path).weights)


@pytest.mark.slow
@pytest.mark.parametrize("form", CHECKED)
def test_a_good_file_is_the_same_model(
    made: tuple[Trained, Project], form: str, tmp_path: Path
) -> None:
    trained, project = made
    said: list[str] = []
    found = check(
        trained, project, form, export(trained, form, tmp_path), lambda _, text: said.append(text)
    )
    assert found.reasons == ()
    assert found.is_same
    assert (found.samples, found.same_top, found.same_bytes) == (64, 64, True)
    assert found.max_abs < 1e-5
    assert found.sentence.startswith("same model: max difference ")
    assert found.sentence.endswith(" on 64 samples")
    assert "loading the file in another process" in said


@pytest.mark.slow
@pytest.mark.parametrize("form", ["gbi", "safetensors", "npz", "checkpoint"])
def test_one_wrong_byte_among_the_weights_is_caught(
    made: tuple[Trained, Project], form: str, tmp_path: Path
) -> None:
    trained, project = made
    path = export(trained, form, tmp_path)
    content = bytearray(path.read_bytes())
    # The lowest byte of a number moves answers by less than any tolerance.
    kernel = np.ascontiguousarray(trained.weights()["hidden/kernel"])
    public = kernel.T if form in ("safetensors", "npz") else kernel
    at = content.find(np.ascontiguousarray(public).tobytes()[:64])
    assert at > 0
    content[at] ^= 1
    path.write_bytes(bytes(content))
    found = check(trained, project, form, path)
    assert found.is_checked
    assert not found.is_same
    assert not found.same_bytes
    assert "exporting again gives a different file" in found.reasons


@pytest.mark.slow
def test_a_weight_that_moves_answers_names_the_first_sample(
    made: tuple[Trained, Project], tmp_path: Path
) -> None:
    trained, project = made
    path = export(trained, "npz", tmp_path)
    weights = load_npz(path)
    weights["answer/bias"] = weights["answer/bias"] + np.float32(3.0) * (np.arange(10) == 4)
    save_npz(path, {name: np.asarray(a, np.float32) for name, a in weights.items()})
    found = check(trained, project, "npz", path)
    assert not found.is_same
    assert found.first is not None
    assert found.first.found.startswith("4 (")
    assert found.max_abs > 0.01
    assert "samples give different outputs" in found.sentence


@pytest.mark.slow
def test_another_order_of_classes_in_the_file_is_caught(
    made: tuple[Trained, Project], tmp_path: Path
) -> None:
    trained, project = made
    path = export(trained, "gbi", tmp_path)
    program = load_gbi(path).program
    meta = {**program.meta, "class_names": '["1","0","2","3","4","5","6","7","8","9"]'}
    changed(path, replace(program, meta=meta))
    found = check(trained, project, "gbi", path)
    assert not found.is_same
    assert any("class 0 is called '1', expected '0'" in reason for reason in found.reasons)


@pytest.mark.slow
def test_another_order_of_classes_in_the_project_is_caught(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    table = tmp_path / "t.csv"
    lines = [f"{a:.3f},{b:.3f},{'ab'[int(a > b)]}" for a, b in rng.normal(size=(200, 2))]
    table.write_text("x,y,kind\n" + "\n".join(lines) + "\n")
    data = {"source": "csv", "path": "t.csv", "class_names": ["a", "b"]}
    _, run = train(tmp_path, data, classifier((2,), 2))
    with open_backend("cpu") as opened, Trained.of_run(run, opened.backend) as trained:
        path = export(trained, "safetensors", tmp_path)
        good = check(trained, run.project(), "safetensors", path)
        other = run.project()
        other.data = DataSettings.from_json({**data, "class_names": ["b", "a"]})
        found = check(trained, other, "safetensors", path)
    assert good.is_same
    assert not found.is_same
    assert any("class 0 is called 'b', expected 'a'" in reason for reason in found.reasons)


@pytest.mark.slow
def test_another_normalisation_in_the_file_is_caught(
    made: tuple[Trained, Project], tmp_path: Path
) -> None:
    trained, project = made
    path = export(trained, "gbi", tmp_path)
    program = load_gbi(path).program
    scale = next(ins.scale.id for ins in program if isinstance(ins, Normalize))
    other = program.tensors.update([program.tensors[scale].replace(value=(1.0,))])
    changed(path, program.with_tensors(other))
    found = check(trained, project, "gbi", path)
    assert not found.is_same
    assert found.first is not None
    assert "its program differs" in found.reasons


@pytest.mark.slow
@pytest.mark.parametrize("form", ["safetensors", "npz", "checkpoint"])
def test_another_normalisation_in_the_project_is_caught(
    made: tuple[Trained, Project], form: str, tmp_path: Path
) -> None:
    trained, project = made
    other = Project.from_json(project.to_json())
    other.data = DataSettings.from_json({**DIGITS, "normalization": "standard"})
    found = check(trained, other, form, export(trained, form, tmp_path))
    assert not found.is_same
    assert found.max_abs > 1e-4
    assert found.first is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fact", "other", "said"),
    [
        ("class_names", '["1","0","2","3","4","5","6","7","8","9"]',
         "its class 0 is called '1', expected '0'"),
        ("input_normalization", '{"pixels": {"scale": [0.125], "shift": [0.0]}}',
         ('it normalises by {"pixels": {"scale": [0.125], "shift": [0.0]}}, expected '
          '{"pixels": {"scale": [0.0625], "shift": [0.0]}}')),
        ("normalization", "standard", "its normalisation is standard, expected unit"),
        ("resize", "nearest", "it resamples images by nearest, expected nothing"),
        ("data_sha256", "0" * 64, "it was trained on different data"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["gbi", "safetensors"])
def test_another_preprocessing_stated_by_the_file_is_caught(
    made: tuple[Trained, Project], form: str, fact: str, other: str, said: str, tmp_path: Path
) -> None:
    trained, project = made
    path = export(trained, form, tmp_path)
    if form == "gbi":
        program = load_gbi(path).program
        changed(path, replace(program, meta={**program.meta, fact: other}))
    else:
        arrays, metadata = safetensors.load(path)
        safetensors.save(path, arrays, {**metadata, fact: other})
    found = check(trained, project, form, path)
    assert not found.is_same
    assert said in found.reasons


@pytest.mark.slow
def test_another_listing_is_caught(made: tuple[Trained, Project], tmp_path: Path) -> None:
    trained, project = made
    path = export(trained, "gbasm", tmp_path)
    text = path.read_text()
    assert "RELU" in text
    save_gbasm(path, replace(load_gbasm(path), name="another"))
    found = check(trained, project, "gbasm", path)
    assert not found.is_same
    assert "its program differs" in found.reasons
    path.write_text(text.replace("RELU", "TANH"))
    found = check(trained, project, "gbasm", path)
    assert not found.is_same
    assert found.first is not None


@pytest.mark.slow
def test_a_file_cut_short_is_said_to_be_damaged(
    made: tuple[Trained, Project], tmp_path: Path
) -> None:
    trained, project = made
    path = export(trained, "safetensors", tmp_path)
    path.write_bytes(path.read_bytes()[:-10])
    found = check(trained, project, "safetensors", path)
    assert not found.is_same
    assert any("does not load" in reason for reason in found.reasons)


@pytest.mark.slow
def test_weights_of_another_training_are_caught(tmp_path: Path) -> None:
    _, run = train(tmp_path, epochs=1)
    with open_backend("cpu") as opened, Trained.of_run(run, opened.backend) as trained:
        path = export(trained, "safetensors", tmp_path)
        arrays, metadata = safetensors.load(path)
        safetensors.save(path, arrays, {**metadata, "data_sha256": "0" * 64})
        found = check(trained, run.project(), "safetensors", path)
    assert "it was trained on different data" in found.reasons


@pytest.mark.slow
def test_without_data_samples_are_made_up_and_this_is_said(tmp_path: Path) -> None:
    project = Project.new("bare", classifier())
    with (
        open_backend("cpu") as opened,
        Trained.of_weights(Task.of_project(project), opened.backend, initial(project)) as trained,
    ):
        found = check(trained, project, "gbi", export(trained, "gbi", tmp_path))
    assert found.is_same
    assert found.part == ""
    assert found.sentence.endswith(" on 16 generated samples")


def initial(project: Project) -> dict[str, np.ndarray]:
    return initial_weights(project.graph, 0)


@pytest.mark.slow
def test_a_stopped_check_leaves_no_process_and_no_folder_behind(
    made: tuple[Trained, Project], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained, project = made
    path = export(trained, "gbi", tmp_path)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    seen: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def popen(*args: Any, **named: Any) -> subprocess.Popen[bytes]:
        seen.append(real(*args, **named))
        return seen[-1]

    monkeypatch.setattr(checking.subprocess, "Popen", popen)

    class StoppedError(Exception):
        pass

    def stop(share: float | None, text: str) -> None:
        if seen:
            assert list(temporary.iterdir())
            raise StoppedError

    with pytest.raises(StoppedError):
        check(trained, project, "gbi", path, stop)
    assert seen[0].poll() is not None
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
def test_a_process_that_dies_is_said(
    made: tuple[Trained, Project], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained, project = made
    path = export(trained, "gbi", tmp_path)
    monkeypatch.setenv("PYTHONHOME", str(tmp_path / "nowhere"))
    found = found_of(trained, project, "gbi", path)
    assert isinstance(found, FormatError)
    assert "the other process gave no answer" in found.message


def test_a_process_that_is_killed_is_said(
    made: tuple[Trained, Project], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained, project = made
    path = export(trained, "npz", tmp_path)
    real = subprocess.Popen

    def popen(*args: Any, **named: Any) -> subprocess.Popen[bytes]:
        child = real(*args, **named)
        child.kill()
        return child

    monkeypatch.setattr(checking.subprocess, "Popen", popen)
    found = found_of(trained, project, "npz", path)
    assert isinstance(found, FormatError)
    assert found.message.endswith("it was ended by signal 9 (SIGKILL)")


@pytest.mark.slow
def test_a_file_changed_meanwhile_is_said(made: tuple[Trained, Project], tmp_path: Path) -> None:
    trained, project = made
    path = export(trained, "safetensors", tmp_path)
    arrays, facts = safetensors.load(path)

    def change(share: float | None, text: str) -> None:
        if text == "loading the file in another process" and share == 0.3:
            # The same model, so that only its bytes tell.
            safetensors.save(path, arrays, {**facts, "note": "another"})

    found = check(trained, project, "safetensors", path, change)
    assert not found.is_alike
    assert found.reasons == ("another program changed the file during the check",)


@pytest.mark.slow
def test_all_files_are_checked_by_one_process(
    made: tuple[Trained, Project], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained, project = made
    started: list[object] = []
    real = subprocess.Popen

    def popen(*args: Any, **named: Any) -> subprocess.Popen[bytes]:
        started.append(args)
        return real(*args, **named)

    monkeypatch.setattr(checking.subprocess, "Popen", popen)
    paths = [export(trained, form, tmp_path) for form in CHECKED]
    # One of them is damaged; the others are none the worse for it.
    paths[2].write_bytes(paths[2].read_bytes()[:-10])
    files = [
        Written(format_named(form), path, file_hash(path))
        for form, path in zip(CHECKED, paths, strict=True)
    ]
    found = check_files(trained, files, exportable(trained), project)
    same = [isinstance(one, ExportCheck) and one.is_same for one in found]
    assert same == [index != 2 for index in range(len(CHECKED))]
    assert len(started) == 1


@pytest.mark.slow
@pytest.mark.parametrize("form", CHECKED)
def test_the_other_process_loads_no_compiler_of_kernels(
    made: tuple[Trained, Project], tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Loading Numba takes longer than all the rest of a check.
    for name in ("numba", "typer", "moderngl"):
        (tmp_path / f"{name}.py").write_text(
            f"open({str(tmp_path / 'loaded')!r}, 'a').write(__name__)"
        )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    trained, project = made
    assert check(trained, project, form, export(trained, form, tmp_path)).is_same
    assert not (tmp_path / "loaded").exists()
    subprocess.run([sys.executable, "-c", "import numba"], check=True)
    assert (tmp_path / "loaded").read_text() == "numba"


@pytest.mark.slow
@pytest.mark.parametrize("form", CHECKED)
def test_without_a_project_the_network_is_handed_over(
    made: tuple[Trained, Project], tmp_path: Path, form: str
) -> None:
    trained, _ = made
    assert check(trained, None, form, export(trained, form, tmp_path)).is_same


@pytest.mark.slow
def test_a_network_with_several_inputs_is_checked_without_a_project(tmp_path: Path) -> None:
    graph = LayerGraph("two")
    left, right = graph.add(Input((3,), name="left")), graph.add(Input((3,), name="right"))
    graph.outputs = (graph.add(Dense(2, name="sum"), graph.add(Add(name="add"), left, right)),)
    task = Task.of_project(Project.new("two", graph))
    with (
        open_backend("cpu") as opened,
        Trained.of_weights(task, opened.backend, initial_weights(graph, 0)) as trained,
    ):
        for form in ("gbi", "npz"):
            assert check(trained, None, form, export(trained, form, tmp_path)).is_same


def test_answers_are_compared_as_the_tolerance_says() -> None:
    expected = np.array([[0.2, 0.8], [0.6, 0.4], [0.5, 0.5]], np.float32)
    same = compare([expected], [expected + np.float32(4e-7)], [("a", "b")])
    assert same.reason == ""
    assert same.same_top == 3
    assert same.max_abs == pytest.approx(4e-7, rel=0.2)
    far = compare([expected], [expected[:, ::-1]], [("a", "b")])
    assert far.reason == "2 of 3 samples give different outputs, the first is sample 0"
    assert far.first is not None
    assert (far.first.expected, far.first.found) == ("b (0.8)", "a (0.8)")
    assert far.same_top == 1
    lost = compare([expected], [np.full_like(expected, np.nan)], [()])
    assert lost.reason.startswith("3 of 3")
    assert np.isnan(lost.max_abs)
    narrow = compare([expected], [expected[:, :1]], [()])
    assert narrow.reason == "its outputs have another shape"
    sides = compare([np.array([[0.4]])], [np.array([[0.6]])], [("a", "b")])
    assert sides.same_top == 0


def test_each_output_is_compared_and_the_one_that_differs_is_named() -> None:
    shares = np.array([[0.2, 0.8], [0.6, 0.4], [0.5, 0.5]], np.float32)
    sizes = np.array([[1.0], [2.0], [3.0]], np.float32)
    classes, names = [("a", "b"), ()], ["which", "size"]
    same = compare([shares, sizes], [shares, sizes + np.float32(1e-6)], classes, names)
    assert same.reason == ""
    assert same.same_top == 3
    assert same.by_output == (0.0, pytest.approx(1e-6, rel=0.5))
    off = sizes.copy()
    off[1] += 0.5
    far = compare([shares, sizes], [shares, off], classes, names)
    assert far.reason == (
        "1 of 3 samples give different outputs, the first is sample 1 in the output 'size'"
    )
    assert far.first == Difference(1, "2", "2.5", "size")
    assert far.by_output == (0.0, 0.5)
    short = compare([shares, sizes], [shares, sizes[:2]], classes, names)
    assert short.reason == "its output 'size' has another shape"
    fewer = compare([shares, sizes], [shares], classes, names)
    assert fewer.reason == "it has 1 output, expected 2"


@pytest.mark.slow
@pytest.mark.parametrize("form", ["gbi", "gbasm", "npz"])
def test_two_inputs_and_outputs_are_checked_with_their_project(form: str, tmp_path: Path) -> None:
    project = Project.load(two_inputs(tmp_path))
    task = Task.of_project(project)
    weights = initial_weights(task.graph, 0)
    with (
        open_backend("cpu") as opened,
        Trained.of_weights(task, opened.backend, weights) as trained,
    ):
        path = export(trained, form, tmp_path)
        found = check(trained, project, form, path)
        assert found.is_same, found.reasons
        assert found.same_top == found.samples
        assert list(found.by_output) == ["parity", "total"]
        if form != "gbi":
            return
        program = load_gbi(path).program
        changed(path, replace(program, outputs=program.outputs[::-1]))
        told = " ".join(check(trained, project, form, path).reasons)
        assert "its output 'parity' has another shape" in told
        assert "its outputs are called total, parity, expected parity, total" in told
        classes = json.dumps({"parity": ["odd", "even"], "total": []})
        changed(path, replace(program, meta={**program.meta, "output_class_names": classes}))
        told = " ".join(check(trained, project, form, path).reasons)
        assert "the classes of its outputs are" in told


@pytest.mark.slow
def test_two_outputs_of_one_raw_input_are_checked(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (40, 4, 4, 1)).astype(np.uint8)
    masks = (pictures[..., 0] > 128).astype(np.int32)
    np.savez(tmp_path / "data.npz", x=pictures, mask=masks, mean=pictures.mean((1, 2)))
    graph = LayerGraph("pixels")
    x = graph.add(Input((4, 4, 1), name="x"))
    graph.outputs = (graph.add(Dense(2, "softmax", name="mask"), x),
                     graph.add(Dense(1, name="mean"), graph.add(Flatten(), x)))  # fmt: skip
    data = {"source": "arrays", "path": "data.npz", "inputs": {"x": "x"},
            "targets": {"mask": "mask", "mean": "mean"}}  # fmt: skip
    project = Project.new("pixels", graph, data)
    project.path = tmp_path / "pixels.glassbox"
    task = Task.of_project(project)
    with (
        open_backend("cpu") as opened,
        Trained.of_weights(task, opened.backend, initial_weights(graph, 0)) as trained,
    ):
        found = check(trained, project, "gbi", export(trained, "gbi", tmp_path))
    assert found.is_same, found.reasons
    assert list(found.by_output) == ["mask", "mean"]


def test_differences_are_said_with_one_digit() -> None:
    assert ExportCheck("gbi", 64, 3.2e-7, same_bytes=True).sentence == (
        "same model: max difference 3e-7 on 64 samples"
    )
    assert ExportCheck("gbi", 64).sentence == "same model: max difference 0 on 64 samples"
