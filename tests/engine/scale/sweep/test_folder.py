"""The folder of a sweep, its lock, its plan; and what a plan refuses."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import dask
import pytest

from studio.engine.core.errors import DataError, FormatError, ParameterError
from studio.engine.scale.sweep.bundle import Bundle, unpacked, write_files
from studio.engine.scale.sweep.cluster import ClusterPool
from studio.engine.scale.sweep.folder import Plan, SweepFolder, find_sweep
from studio.engine.scale.sweep.planning import Wishes, make_plan, require_same
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder
from tests.engine.scale.sweep.sweeping import RATE, UNITS, begin, saved
from tests.engine.train.small_tasks import project


def plan_of(found: Project, **wishes: object) -> Plan:
    return make_plan(found, Wishes(**{"vary": (RATE, UNITS), **wishes}), 2)[0]


def test_one_process_has_a_sweep(tmp_path: Path) -> None:
    found = saved(tmp_path)
    assert found.path is not None
    with begin(found) as folder:
        with pytest.raises(DataError, match="the sweep is under way, by this process since"):
            SweepFolder(folder.path, found.path)
        before = sorted(path.name for path in folder.path.iterdir())
    assert [name for name in before if name.endswith(".lock")]
    with SweepFolder(folder.path, found.path):
        pass
    assert find_sweep(found.path) == folder.path
    assert not [path for path in folder.path.iterdir() if path.suffix == ".lock"]


def test_a_sweep_has_a_name_of_its_own(tmp_path: Path) -> None:
    found = saved(tmp_path)
    with begin(found) as first:
        made = first.path
    plan = plan_of(found)
    names = set()
    for _ in range(3):
        with SweepFolder.create(found, plan) as folder:
            names.add(folder.name)
    assert len(names | {made.name}) == 4
    # A run of the same second is no sweep's.
    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    run = RunFolder.create(found, now)
    with SweepFolder.create(found, plan, now) as folder:
        assert folder.name == f"{run.name}_002"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root writes anywhere")
def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    found = saved(tmp_path)
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(DataError, match="sweeps cannot be recorded here"):
            begin(found)
    finally:
        tmp_path.chmod(0o700)


def test_a_plan_comes_back_as_it_was(tmp_path: Path) -> None:
    plan = plan_of(saved(tmp_path), prune="asha", seeds=2, objective="loss")
    again = Plan.from_json(json.loads(json.dumps(plan.to_json())), "x")
    assert replace(again, settings={}) == replace(plan, settings={})
    assert again.project(None).to_json() == plan.project(None).to_json()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "other"}, "this is no plan of a sweep"),
        ({"version": 2}, "was written by version 2 of the format"),
        ({"trials": "many"}, "damaged at trials"),
        ({"workers": 100_000}, "damaged at workers"),
        ({"sampler": "other"}, "damaged at sampler"),
        ({"synchronous": 1}, "damaged at synchronous"),
        ({"more": 1}, "damaged at its end"),
    ],
)
def test_a_damaged_plan_is_refused(tmp_path: Path, change: dict[str, object], said: str) -> None:
    found = saved(tmp_path)
    with begin(found) as folder:
        path = folder.path / "sweep.json"
    document = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**document, **change}), encoding="utf-8")
    assert found.path is not None
    with pytest.raises(FormatError, match=said):
        SweepFolder(folder.path, found.path)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(FormatError):
        SweepFolder(folder.path, found.path)


def test_there_is_nothing_to_resume_before_the_first(tmp_path: Path) -> None:
    saved(tmp_path)
    with pytest.raises(DataError, match="there is no sweep to resume"):
        find_sweep(tmp_path / "small.glassbox")


# -- plans -----------------------------------------------------------------------------------------


def test_trials_are_never_measured_on_the_test_part(tmp_path: Path) -> None:
    found = saved(tmp_path, validation="held-out")
    plan, remark = make_plan(found, Wishes((RATE,)), 1)
    task = Task.of_project(plan.project(found.path))
    assert task.validation is not task.test
    assert "validates on its test part" in remark
    assert "a random 10% of the training part" in remark
    plan, remark = make_plan(saved(tmp_path, validation="tail"), Wishes((RATE,)), 1)
    assert (plan.project(None).training.validation, remark) == ("tail", "")


@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        ({"objective": "test_loss"}, "the test part is no objective"),
        ({"objective": "test"}, "the test part is no objective"),
        ({"objective": "val_los"}, "did you mean val_loss"),
        ({"objective": "learning_rate"}, "expected one of val_loss, val_accuracy, loss, accuracy"),
        ({"sampler": "tpa"}, "did you mean tpe"),
        ({"prune": "hyper"}, "expected one of none, asha"),
        ({"backend": "gpu"}, "expected one of auto, gl, cpu"),
        ({"trials": 0}, "--trials] expected a whole number from 1 to 10,000, got 0"),
        ({"workers": 0}, "--workers] expected a whole number from 1"),
        ({"threads": 99}, "--threads] expected a whole number from 1 to 8, got 99"),
        ({"seeds": -1}, "--seeds] expected a whole number from 1"),
        ({"seed": -1}, "--seed] expected a whole number from 0"),
        ({"seeds": 2, "vary": ("seed=0..9",)}, "the seed is varied already"),
        ({"sampler": "grid"}, "a grid needs values, not the range log:1e-4..1e-1"),
        ({"sampler": "grid", "vary": (UNITS,), "trials": 2}, "the grid has 3 points, more than"),
        ({"vary": ("loss=MeanSquaredError,CategoricalCrossentropy",)}, "cannot be compared by"),
        ({"vary": ()}, "expected 1 to 32 things to vary, got 0"),
    ],
)
def test_what_cannot_be_done_is_one_clear_sentence(
    tmp_path: Path, wishes: dict[str, object], said: str
) -> None:
    found = saved(tmp_path)
    with pytest.raises(ParameterError) as caught:
        plan_of(found, **wishes)
    assert said in str(caught.value)
    assert not (tmp_path / "small.sweeps").exists()


def test_a_project_without_data_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the project has no data to train on"):
        plan_of(replace(saved(tmp_path), data=None))


def test_an_objective_on_validation_needs_a_validation_part(tmp_path: Path) -> None:
    found = saved(tmp_path, validation="none")
    with pytest.raises(ParameterError, match="the project has no validation part"):
        plan_of(found)
    assert plan_of(found, objective="loss").objective == "loss"


def test_the_direction_is_that_of_the_metric_unless_given(tmp_path: Path) -> None:
    found = saved(tmp_path)
    assert not plan_of(found).maximize
    assert plan_of(found, objective="val_accuracy").maximize
    assert not plan_of(found, objective="val_accuracy", maximize=False).maximize


def test_a_resumed_sweep_keeps_what_it_began_with(tmp_path: Path) -> None:
    plan = plan_of(saved(tmp_path), sampler="random", trials=5)
    assert require_same(plan, Wishes()) == plan
    assert require_same(plan, Wishes((RATE, UNITS), sampler="random", trials=5)) == plan
    changed = require_same(plan, Wishes(trials=9, workers=7))
    assert (changed.trials, changed.workers) == (9, 7)
    for name, wishes in {
        "--vary": Wishes((RATE,)),
        "--sampler": Wishes(sampler="tpe"),
        "--objective": Wishes(objective="loss"),
        "--seeds": Wishes(seeds=3),
        "--seed": Wishes(seed=4),
    }.items():
        with pytest.raises(ParameterError, match=f"{name}] a resumed sweep keeps"):
            require_same(plan, wishes)
    with pytest.raises(ParameterError, match="--workers] a resumed sweep keeps"):
        require_same(replace(plan, synchronous=True), Wishes(workers=7))


# -- clusters --------------------------------------------------------------------------------------


def test_tls_without_its_files_is_refused_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = saved(tmp_path)
    with pytest.raises(ParameterError, match="Dask's configuration names no ca-file for TLS"):
        ClusterPool("tls://127.0.0.1:8786", found)
    monkeypatch.setitem(dask.config.config["distributed"]["comm"]["tls"], "ca-file", "/nowhere")
    with pytest.raises(ParameterError, match="/nowhere, the ca-file of Dask's"):
        ClusterPool("tls://127.0.0.1:8786", found)


def test_imported_weights_are_not_sent(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="imported weights are not sent to a cluster"):
        ClusterPool("127.0.0.1:8786", saved(tmp_path, begin_with="imported"))


def test_a_bundle_holds_the_data_and_nothing_else(tmp_path: Path) -> None:
    home, outside = tmp_path / "home", tmp_path / "outside"
    home.mkdir()
    outside.mkdir()
    (home / "secret.txt").write_text("mine", encoding="utf-8")
    (home / "table.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    found = project(None, {"source": "csv", "path": "table.csv"})
    found.save(home / "p.glassbox")
    bundle = Bundle.of_project(found)
    assert dict(bundle.files) == {"path/table.csv": b"a,b\n1,2\n"}
    assert bundle.data is not None
    assert bundle.data["path"] == "path/table.csv"
    (outside / "x.npy").write_bytes(b"1")
    (outside / "y.npy").write_bytes(b"2")
    pair = {"source": "npz", "x": str(outside / "x.npy"), "y": str(outside / "y.npy")}
    other = project(None, pair)
    other.save(home / "q.glassbox")
    files = Bundle.of_project(other).files
    assert dict(files) == {"x/x.npy": b"1", "y/y.npy": b"2"}
    assert str(outside) not in json.dumps(Bundle.of_project(other).data)
    third = project(None, {"source": "images", "path": str(outside)})
    third.save(home / "r.glassbox")
    assert set(Bundle.of_project(third).files) == {"path/outside/x.npy", "path/outside/y.npy"}
    (outside / "x.npy").unlink()
    with pytest.raises(DataError, match="cannot be read"):
        Bundle.of_project(other)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no files of these names")
@pytest.mark.parametrize("name", ["10:30.png", "a\\b.png", "line\nbreak.png"])
def test_a_file_whose_name_another_system_does_not_have_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "pictures" / "cat").mkdir(parents=True)
    (tmp_path / "pictures" / "cat" / name).write_bytes(b"x")
    found = project(None, {"source": "images", "path": "pictures"})
    found.save(tmp_path / "p.glassbox")
    with pytest.raises(DataError, match="cannot be sent to a cluster") as refusal:
        Bundle.of_project(found)
    assert "pictures" in refusal.value.who
    assert "\n" not in refusal.value.who


def test_a_bundle_is_unpacked_once_and_checked(tmp_path: Path) -> None:
    bundle = Bundle({"path/a.csv": b"1", "path/sub/b.csv": b"2"}, None)
    place = unpacked(bundle.files, bundle.digest, tmp_path)
    assert (place / "path" / "sub" / "b.csv").read_bytes() == b"2"
    assert unpacked(bundle.files, bundle.digest, tmp_path) == place
    assert [path.name for path in tmp_path.iterdir()] == [place.name]
    with pytest.raises(DataError, match="arrived damaged"):
        unpacked({"path/a.csv": b"3"}, bundle.digest[::-1], tmp_path)


@pytest.mark.parametrize("name", ["../a", "/a", "a/../../b", "", "a\\b", "a\x00b", "C:a", "."])
def test_files_of_workers_stay_in_their_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="a worker sent a file of the name"):
        write_files({"good": b"", name: b"x"}, tmp_path / "in")
    assert not (tmp_path / "in").exists()
