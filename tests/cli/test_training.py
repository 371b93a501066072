"""``train``, ``evaluate`` and ``demo``."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.train.loop import progress
from studio.engine.train.runs.marks import read_marks
from studio.engine.train.runs.run_lock import RunLock
from studio.samples import open_copy

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Answer

SHORT = ("--backend", "cpu", "--epochs", "1")


def test_sample_is_copied_here_trained_and_recorded(
    glassbox: Callable[..., Answer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = glassbox("train", "iris", *SHORT)
    assert "epoch 1/1  ETA 0:00  loss " in answer.err
    assert answer.err.startswith("training on the CPU: as chosen\n")
    said = dict(line.split(": ") for line in answer.out.splitlines() if ": " in line)
    assert Path(said["run"]).parts[:2] == ("iris", "iris.runs")
    summary = json.loads((tmp_path / said["run"] / "summary.json").read_text("utf-8"))
    assert summary["state"] == "finished"
    measured = glassbox("evaluate", "iris", "--backend", "cpu").out.splitlines()
    assert measured[:2] == [f"test {n}: {said[f'test {n}']}" for n in ("loss", "accuracy")]
    assert measured[2:] == [
        f"weights: epoch 1, final.safetensors, run {Path(said['run'])}"
    ]  # fmt: skip


@pytest.mark.slow
def test_the_pace_and_the_time_are_those_of_the_clock(
    glassbox: Callable[..., Answer], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "WINDOW_SECONDS", 1e9)
    began = time.perf_counter()
    answer = glassbox("train", "iris", "--backend", "cpu", "--epochs", 40)
    passed = time.perf_counter() - began
    lines = [line for line in answer.err.splitlines() if line.startswith("epoch ")]
    assert len(lines) == 40
    assert " ETA 0:00 " in lines[-1]
    rows, summary = int(lines[-1].split()[-2].replace(",", "")), _summary(answer)
    # 120 rows an epoch; the first step is left out, and what follows the last epoch.
    assert rows * summary["seconds"] == pytest.approx(40 * 120, rel=0.15)
    assert 0.0 < summary["seconds"] <= passed
    more = glassbox("train", "iris", "--backend", "cpu", "--epochs", 60, "--resume", "--json").json
    assert more["total_seconds"] == pytest.approx(summary["seconds"] + more["seconds"], abs=0.01)
    text = (Path(more["run"]) / "summary.json").read_text("utf-8")
    assert json.loads(text)["seconds"] == pytest.approx(more["total_seconds"], abs=0.01)


def test_a_run_keeps_what_was_measured_and_how_it_went(
    glassbox: Callable[..., Answer], here: Path
) -> None:
    first = glassbox("train", "iris", *SHORT, "--json").json
    run = Path(first["run"])
    summary = json.loads((run / "summary.json").read_text("utf-8"))
    assert summary["test"] == pytest.approx(first["test"])
    again = glassbox("train", "iris", "--backend", "cpu", "--epochs", 3, "--resume", "--json").json
    summary = json.loads((run / "summary.json").read_text("utf-8"))
    assert summary["test"] == pytest.approx(again["test"]) != pytest.approx(first["test"])
    steps = summary["steps"]
    assert [(mark.kind, mark.step) for mark in read_marks(run)] == [
        ("start", 0), ("finished", steps // 3), ("restart", steps // 3), ("finished", steps),
    ]  # fmt: skip


def _summary(answer: Answer) -> dict:
    run = next(line for line in answer.out.splitlines() if line.startswith("run: "))
    return json.loads((Path(run.removeprefix("run: ")) / "summary.json").read_text("utf-8"))


@pytest.mark.slow
def test_json_of_training_names_what_came_out(glassbox: Callable[..., Answer], here: Path) -> None:
    answer = glassbox("train", "iris", "--backend", "cpu", "--epochs", 3, "--out", "o", "--json")
    found = answer.json
    assert found["outcome"] == "finished"
    assert len(found["history"]["loss"]) == found["epochs"] == 3
    assert all((here / each["path"]).exists() for each in found["exports"])
    assert len(found["exports"]) == 10
    assert answer.err == ""


def test_same_seed_gives_the_same_answer(glassbox: Callable[..., Answer], here: Path) -> None:
    words = ("train", "iris", *SHORT, "--json", "--seed")
    first, second, other = (glassbox(*words, seed).json["test"] for seed in (5, 5, 6))
    assert first == second != other


@pytest.mark.slow
def test_resumed_training_keeps_the_seed_of_its_first_part(
    glassbox: Callable[..., Answer], here: Path
) -> None:
    glassbox("train", "iris", *SHORT, "--seed", 11)
    more = glassbox("train", "iris", "--backend", "cpu", "--epochs", 3, "--resume")
    assert "continuing after 1 of 3 epochs" in more.err
    assert [line.split()[1] for line in more.err.splitlines() if "epoch " in line[:6]] == [
        "2/3",
        "3/3",
    ]
    whole = glassbox(
        "train", "iris", "--backend", "cpu", "--epochs", 3, "--seed", 11, "--json"
    ).json
    measured = dict(line.split(": ") for line in more.out.splitlines() if ": " in line)
    assert f"{whole['test']['loss']:.4f}" == measured["test loss"]


def test_resumed_training_that_is_over_says_so(glassbox: Callable[..., Answer], here: Path) -> None:
    run = next((here / "iris" / "iris.runs").iterdir())
    glassbox("train", "iris", "--backend", "cpu", "--epochs", 3, "--resume")
    before = {path: path.read_bytes() for path in run.rglob("*.*")}
    words = ("train", "iris", "--backend", "cpu", "--resume", "--epochs")
    same = glassbox(*words, 3)
    assert "nothing left to train: all 3 epochs are done; ask for more with --epochs" in same.err
    fewer = glassbox(*words, 2)
    assert "nothing left to train: 3 epochs are done, 2 asked for; ask for more" in fewer.err
    assert "trained 24 steps in all, 0.0 s now" in same.out
    assert {path: path.read_bytes() for path in run.rglob("*.*")} == before
    found = glassbox(*words, 3, "--json").json
    assert (found["outcome"], found["epochs"], found["seconds"]) == ("finished", 3, 0.0)
    assert len(found["history"]["loss"]) == 3
    assert found["weights"]["checkpoint"].endswith("final.safetensors")
    measured = glassbox("evaluate", "iris", "--backend", "cpu", "--json").json
    assert measured["test"] == found["test"]
    assert measured["weights"] == found["weights"]


def test_a_run_in_training_is_not_resumed(
    glassbox: Callable[..., Answer], refused: Callable[..., str], here: Path
) -> None:
    run = next((here / "iris" / "iris.runs").iterdir())
    lock = RunLock(run)
    lock.take()
    before = {path: path.read_bytes() for path in run.rglob("*.*")}
    words = ("train", "iris", "--backend", "cpu", "--resume", "--epochs", 3)
    assert "the run is being trained by this process since" in refused(*words)
    assert {path: path.read_bytes() for path in run.rglob("*.*")} == before
    said = glassbox("evaluate", "iris", "--backend", "cpu").out
    assert "note: the run is still training" in said
    lock.release()
    assert "continuing after 1 of 3 epochs" in glassbox(*words).err


@pytest.mark.slow
def test_imported_weights_do_not_hide_the_run_to_resume(
    glassbox: Callable[..., Answer], refused: Callable[..., str], here: Path
) -> None:
    first = next((here / "iris" / "iris.runs").iterdir())
    glassbox("export", "iris", "--format", "safetensors", "-o", "iris.safetensors")
    glassbox("import", "iris.safetensors", "-o", "iris")
    found = glassbox("evaluate", "iris", "--backend", "cpu", "--json").json
    assert found["weights"]["imported"] == "iris.safetensors"
    said = glassbox("train", "iris", "--backend", "cpu", "--epochs", 2, "--resume")
    newer = Path(found["run"]).name
    assert f"{newer} is newer, but has no checkpoint" in said.err
    assert "continuing after 1 of 2 epochs, from epoch-0001.safetensors of run " in said.err
    assert f"run: {first.relative_to(here)}" in said.out
    again = json.loads((first / "settings.json").read_text("utf-8"))
    assert again["training"]["epochs"] == 2


def test_a_run_stopped_early_goes_on_when_more_epochs_are_asked_for(
    glassbox: Callable[..., Answer], here: Path
) -> None:
    path = here / "iris" / "iris.glassbox"
    project = json.loads(path.read_text("utf-8"))
    project["training"]["early_stopping"] = {"patience": 1, "monitor": "val_loss", "mode": "max"}
    path.write_text(json.dumps(project), encoding="utf-8")
    words = ("train", "iris", "--backend", "cpu")
    first = glassbox(*words, "--epochs", 30, "--json").json
    ended = first["epochs"]
    assert (first["outcome"], ended < 30) == ("early", True)
    same = glassbox(*words, "--resume")
    assert f"nothing left to train: {ended} epochs are done, then it was stopped early" in same.err
    assert first["reason"] in same.out
    more = glassbox(*words, "--resume", "--epochs", 30, "--json").json
    assert more["epochs"] > ended


def test_another_seed_cannot_be_resumed(refused: Callable[..., str], here: Path) -> None:
    assert "the checkpoint was made with 7" in refused(
        "train", "iris", "--resume", "--seed", 8, "--backend", "cpu"
    )


def test_nothing_to_resume_is_refused(
    refused: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "no run has a checkpoint" in refused("train", "iris", "--resume")


def test_damaged_checkpoint_is_refused(refused: Callable[..., str], here: Path) -> None:
    for path in here.glob("iris/iris.runs/*/checkpoints/*"):
        path.write_bytes(path.read_bytes()[:-100])
    for words in (("train", "iris", "--resume"), ("evaluate", "iris")):
        assert ".safetensors]" in refused(*words, "--backend", "cpu")


@pytest.mark.parametrize("command", ["train", "demo"])
def test_out_that_is_a_file_is_refused_before_training(
    refused: Callable[..., str], here: Path, command: str
) -> None:
    (here / "taken").write_bytes(b"")
    before = set(here.rglob("*"))
    words = ("train", "iris") if command == "train" else ("demo",)
    for out in ("taken", "taken/below"):
        assert "the folder cannot be created" in refused(*words, "--backend", "cpu", "--out", out)
    assert set(here.rglob("*")) == before


def test_untrained_project_is_refused(
    refused: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (["evaluate"], ["export", "--format", "gbi", "-o", "x.gbi"]):
        text = refused(words[0], "spirals", *words[1:])
        assert "has not been trained yet" in text
        assert "hint: glassbox train " in text


def test_evaluate_measures_the_run_that_is_named(
    glassbox: Callable[..., Answer], refused: Callable[..., str], here: Path
) -> None:
    first = glassbox("evaluate", "iris", "--backend", "cpu", "--json").json
    glassbox("train", "iris", "--backend", "cpu", "--epochs", 4)
    last = glassbox("evaluate", "iris", "--backend", "cpu", "--json").json
    again = glassbox("evaluate", "iris", "--backend", "cpu", "--json", "--run", first["run"]).json
    assert first["test"] == again["test"] != last["test"]
    for wrong in ("nothere", "iris"):
        assert "this is not a run folder" in refused("evaluate", "iris", "--run", wrong)


def test_answers_say_which_weights_they_come_from(
    glassbox: Callable[..., Answer], here: Path
) -> None:
    run = next((here / "iris" / "iris.runs").iterdir())
    glassbox("train", "iris", "--backend", "cpu", "--epochs", 3, "--resume")
    final = glassbox("evaluate", "iris", "--backend", "cpu", "--json").json
    assert final["weights"]["epoch"] == 3
    assert final["weights"]["checkpoint"].endswith("final.safetensors")
    # As a full disk leaves it: the record goes on, the weights do not.
    for name in ("final", "best", "epoch-0003"):
        (run / "checkpoints" / f"{name}.safetensors").unlink()
    text = glassbox("evaluate", "iris", "--backend", "cpu").out.splitlines()
    assert text[2] == f"weights: epoch 2, epoch-0002.safetensors, run {run.relative_to(here)}"
    missed = "the run recorded 3 epochs, its weights after epoch 2 were not saved"
    assert text[3:] == [f"note: {missed}"]
    (here / "one.csv").write_text("5.1,3.5,1.4,0.2\n", encoding="utf-8")
    said = glassbox("predict", "iris", "one.csv", "--backend", "cpu").out
    assert said.splitlines()[-2:] == text[2:]
    found = glassbox("predict", "iris", "one.csv", "--backend", "cpu", "--json").json["weights"]
    assert (found["epoch"], found["notes"]) == (2, [missed])


def test_newer_runs_without_weights_are_named(glassbox: Callable[..., Answer], here: Path) -> None:
    run = next((here / "iris" / "iris.runs").iterdir())
    newer = run.with_name("2999-01-01_00-00-00")
    newer.mkdir()
    (newer / "settings.json").write_bytes((run / "settings.json").read_bytes())
    found = glassbox("evaluate", "iris", "--backend", "cpu", "--json").json
    assert Path(found["run"]).name == run.name
    assert found["weights"]["notes"] == [f"the newer run has no weights: {newer.name}"]
    named = glassbox("evaluate", "iris", "--run", run, "--backend", "cpu", "--json").json
    assert named["weights"]["notes"] == []


def test_changed_network_does_not_take_weights_of_the_old_one(
    refused: Callable[..., str], here: Path
) -> None:
    path = here / "iris" / "iris.glassbox"
    text = path.read_text("utf-8")
    assert '"units": 16' in text
    path.write_text(text.replace('"units": 16', '"units": 17'), encoding="utf-8")
    answer = refused("train", "iris", "--resume", "--epochs", 2, "--backend", "cpu")
    assert "it was made for another network" in answer


def test_loss_that_is_no_number_stops_in_one_sentence(
    refused: Callable[..., str], here: Path
) -> None:
    path = here / "iris" / "iris.glassbox"
    project = json.loads(path.read_text("utf-8"))
    project["training"]["optimizer"] = {"type": "SGD", "config": {"learning_rate": 1e30}}
    path.write_text(json.dumps(project), encoding="utf-8")
    text = refused("train", "iris", "--backend", "cpu", "--epochs", 20)
    assert "must be finite" in text
    assert "hint: its inputs were finite: they may be too large" in text


def test_stopped_training_says_how_to_go_on(
    glassbox: Callable[..., Answer], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def interrupted(*_: object, **__: object) -> None:
        calls.append(1)
        raise KeyboardInterrupt

    monkeypatch.setattr("studio.cli.commands.training.wait", interrupted)
    answer = glassbox("train", "spirals", "--backend", "cpu", "--epochs", 100_000)
    monkeypatch.undo()
    assert calls == [1]
    assert "stopping after this step" in answer.err
    hint = answer.out.splitlines()[0]
    assert hint.startswith("stopped as you asked; go on with: glassbox train ")
    assert hint.endswith("spirals.glassbox --resume")
    run = here / answer.out.strip().splitlines()[-1].removeprefix("run: ")
    place = Checkpoint.load(run / "checkpoints" / "last.safetensors").position
    epochs = place.epoch + 1
    more = glassbox(
        "train", here / "spirals", "--backend", "cpu", "--epochs", epochs, "--resume", "--json"
    ).json
    assert more["outcome"] == "finished"
    assert more["run"] == str(run)


@pytest.mark.slow
@pytest.mark.gl
@pytest.mark.parametrize("name", ["iris", "spirals"])
def test_training_through_opengl_agrees_with_the_cpu(
    glassbox: Callable[..., Answer], here: Path, name: str
) -> None:
    found = [
        glassbox("train", name, "--epochs", 1, "--backend", backend, "--json").json
        for backend in ("cpu", "gl")
    ]
    assert found[1]["device"] != found[0]["device"]
    assert found[1]["test"]["loss"] == pytest.approx(found[0]["test"]["loss"], abs=1e-4)


@pytest.mark.slow
@pytest.mark.gl
def test_training_in_program_order_gives_the_same(
    glassbox: Callable[..., Answer], here: Path
) -> None:
    words = ("train", "iris", "--epochs", 2, "--seed", 3, "--backend", "gl")
    side, one = (glassbox(*words, *more, "--json").json for more in ((), ("--in-order",)))
    assert one["test"] == side["test"]
    assert "kernels in program order" in glassbox(*words, "--in-order").err
    assert "kernels in program order" not in glassbox(*words[:-1], "cpu", "--in-order").err


@pytest.mark.slow
def test_demo_reaches_its_accuracy_and_writes_its_files(
    glassbox: Callable[..., Answer], here: Path
) -> None:
    found = glassbox("demo", "--headless", "--out", "made", "--seed", 1, "--json").json
    assert found["test"]["accuracy"] >= 0.97
    assert all((here / path).exists() for path in found["files"].values())
    assert max(found["differences"].values()) <= 1e-5


def test_a_training_that_did_not_learn_says_so_and_ends_with_one(
    glassbox: Callable[..., Answer], tmp_path: Path
) -> None:
    path = open_copy("digits-mlp", tmp_path)
    document = json.loads(path.read_text("utf-8"))
    document["training"]["optimizer"] = {"type": "Adam", "config": {"learning_rate": 1e6}}
    path.write_text(json.dumps(document), "utf-8")
    words = ("train", path, "--backend", "cpu", "--epochs", 1)
    answer = glassbox(*words, code=1)
    complaint = " ".join(answer.err[answer.err.rindex("glassbox: ") :].split())
    assert complaint.startswith("glassbox: Training did not learn: loss 1")
    assert "guessing gives 2.30" in complaint
    assert "hint: set the learning rate to 0.001 and train again" in complaint
    assert "test accuracy: 0." in answer.out
    found = glassbox(*words, "--json", code=1).json
    assert found["outcome"] == "finished"
    assert found["verdict"]["kind"] == "diverged"
    summary = json.loads((Path(found["run"]) / "summary.json").read_text("utf-8"))
    assert summary["verdict"] == found["verdict"]
    # Nothing is trained here: what was said of the run still holds.
    assert "nothing left to train" in glassbox(*words, "--resume").err
    kept = json.loads((Path(found["run"]) / "summary.json").read_text("utf-8"))
    assert kept["verdict"] == found["verdict"]
