"""``glassbox evaluate`` and ``predict``: what a trained project says."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from studio.cli import console
from studio.cli.options import (
    BackendOption,
    JsonOption,
    ProjectArgument,
    check_trust,
    open_project,
    word_for,
)
from studio.engine.core.errors import DataError, quoted
from studio.engine.core.options import Plain
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.npy import save_npy
from studio.engine.formats.npz import save_npz
from studio.engine.scale.sweep.trial import sweep_of
from studio.engine.train.data.cleaning import Cleaning
from studio.engine.train.devices import open_backend
from studio.engine.train.network.outcomes import outcomes_of, scores_to_json
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder, latest_run, list_runs
from studio.engine.train.runs.weights_origin import WEIGHTS_CHOICES, WeightsOrigin

RunOption = Annotated[
    Path | None,
    typer.Option(
        "--run", help="Run folder with the weights; default: the last run.", metavar="DIR"
    ),
]
_SHOWN = 3
_ENDINGS = (".npy", ".npz", ".csv")


def evaluate(
    project: ProjectArgument,
    run: RunOption = None,
    weights: Annotated[
        str, typer.Option("--weights", help="Which weights of the run.", metavar="last|best")
    ] = "last",
    classes: Annotated[
        bool, typer.Option("--classes", help="Also show precision, recall and F1 of each class.")
    ] = False,
    top_k: Annotated[
        int | None,
        typer.Option("--top-k", help="Classes top-k accuracy looks at.", min=1, metavar="K"),
    ] = None,
    backend: BackendOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Evaluate a trained project on its test part."""
    chosen = next((each for each in WEIGHTS_CHOICES if each == weights), None)
    if chosen is None:
        raise DataError(f"expected last or best, got {quoted(weights)}", who="--weights")
    opened = open_project(project)
    folder = run_of(opened, run)
    scores: dict[str, dict[str, Plain]] = {}
    with (
        open_backend(backend) as device,
        Trained.of_run(folder, device.backend, weights=chosen) as trained,
    ):
        found, origin = trained.evaluate(), origin_of(trained, opened, run)
        if (as_json or classes) and trained.task.test is not None:
            said = outcomes_of(trained, trained.task.test)
            names = trained.task.graph.output_names()
            for name, outcome in zip(names, said, strict=True):
                if made := scores_to_json(outcome, top_k):
                    scores[name] = made
        cleaning = trained.task.cleaning
    if as_json:
        console.answer_json(
            {
                "run": str(folder.path),
                "weights": origin.to_json(),
                **cleaning_to_json(cleaning),
                "test": found,
                "scores": scores,
            }
        )
        return
    for line in cleaning_lines(cleaning):
        console.note(line)
    for name, value in found.items():
        console.say(f"test {name}: {value:.4f}")
    for name, made in scores.items():
        _say_scores(name if len(scores) > 1 else "", made)
    say_origin(origin)


def cleaning_lines(cleaning: Cleaning) -> list[str]:
    """What was left out of the data or filled in, one line each."""
    return [f"data: {sentence}" for sentence in cleaning.sentences]


def cleaning_to_json(cleaning: Cleaning) -> dict[str, object]:
    """The counts of what was left out or filled in; empty where nothing was."""
    return {"cleaning": cleaning.to_json()} if cleaning else {}


def _say_scores(output: str, scores: Mapping[str, Plain]) -> None:
    """A table of the classes, their means below."""
    if output:
        console.say(f"{output}:")
    top = scores.get("top_k")
    if isinstance(top, Mapping) and top["accuracy"] is not None:
        console.say(f"test top-{top['k']} accuracy: {top['accuracy']:.4f}")
    listed = scores.get("classes")
    rows = [*(listed if isinstance(listed, list) else ()), scores["macro_mean"],
            scores["weighted_mean"]]  # fmt: skip
    console.table(
        ("class", "precision", "recall", "f1", "samples"),
        [
            (str(row["class"]), *(f"{row[key]:.4f}" for key in ("precision", "recall", "f1")),
             str(row["support"]))
            for row in rows
            if isinstance(row, Mapping)
        ],
    )  # fmt: skip


def predict(
    project: ProjectArgument,
    inputs: Annotated[
        list[Path],
        typer.Argument(help="Inputs: .npy, .npz, CSV, images or folders.", metavar="FILE..."),
    ],
    run: RunOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", help="Write the outputs to .npy, .npz or .csv.", metavar="FILE"),
    ] = None,
    backend: BackendOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Run a trained project on your own inputs."""
    if output is not None and output.suffix.lower() not in _ENDINGS:
        raise DataError(
            f"unknown file extension: expected {', '.join(_ENDINGS)}, got {quoted(output.name)}",
            who="predict",
        )
    opened = open_project(project)
    folder = run_of(opened, run)
    with open_backend(backend) as device, Trained.of_run(folder, device.backend) as trained:
        origin = origin_of(trained, opened, run)
        task = trained.task
        _check_output(output, task)
        notes: list[str] = []
        arrays, rows = trained.read_files(inputs, notes)
        answers = _answers(task, trained.predict_all(arrays))
    for note in notes:
        console.note(note)
    if len(answers) > 1:
        _say_several(answers, rows, output, origin, as_json)
        return
    outputs, classes, logits = answers[0].outputs, task.class_names, answers[0].logits
    if output is not None:
        _save(output, outputs, rows, classes)
    if as_json:
        console.answer_json(
            {
                "weights": origin.to_json(),
                "names": list(rows),
                "classes": list(classes),
                "outputs": outputs.tolist(),
            }
        )
        return
    if output is not None:
        console.say(f"{output}: {outputs.dtype}{list(outputs.shape)}")
    else:
        console.table(("input", "answer"), [
            (name, _answer(_shares(row, classes, logits), classes))
            for name, row in zip(rows, outputs, strict=True)
        ])  # fmt: skip
    say_origin(origin)


def _check_output(output: Path | None, task: Task) -> None:
    """DataError, before anything is run, where a file cannot hold every output."""
    names = task.graph.output_names()
    if output is not None and len(names) > 1 and output.suffix.lower() != ".npz":
        raise DataError(
            f"the network has several outputs ({', '.join(names)}), which are written to .npz, "
            f"got {quoted(output.name)}",
            who="predict",
        )


@dataclass(frozen=True)
class _Answers:
    """What one output says.

    Attributes:
        name: the output.
        outputs: [rows, …].
        classes: names of its classes, empty for numbers.
        logits: whether the outputs are logits of the classes.
    """

    name: str
    outputs: np.ndarray
    classes: tuple[str, ...]
    logits: bool

    def texts(self) -> list[str]:
        """One answer for each row, for people."""
        return [_answer(_shares(row, self.classes, self.logits), self.classes)
                for row in self.outputs]  # fmt: skip


def _answers(task: Task, outputs: Sequence[np.ndarray]) -> list[_Answers]:
    logits = [task.gives_logits(place) for place in range(len(outputs))]
    found = zip(task.all_outputs, outputs, logits, strict=True)
    return [_Answers(own.name, values, own.class_names, raw) for own, values, raw in found]


def _say_several(
    answers: Sequence[_Answers],
    rows: tuple[str, ...],
    output: Path | None,
    origin: WeightsOrigin,
    as_json: bool,
) -> None:
    """Write and show what a network with several outputs says."""
    if output is not None:
        save_npz(output, {each.name: each.outputs for each in answers})
    if as_json:
        console.answer_json(
            {
                "weights": origin.to_json(),
                "names": list(rows),
                "classes": {each.name: list(each.classes) for each in answers},
                "outputs": {each.name: each.outputs.tolist() for each in answers},
            }
        )
        return
    if output is not None:
        shown = (f"{each.name} {each.outputs.dtype}{list(each.outputs.shape)}" for each in answers)
        console.say(f"{output}: {', '.join(shown)}")
    else:
        texts = zip(*(each.texts() for each in answers), strict=True)
        columns = ("input", *(each.name for each in answers))
        lines = [(name, *each) for name, each in zip(rows, texts, strict=True)]
        console.table(columns, lines)
    say_origin(origin)


def run_of(project: Project, run: Path | None) -> RunFolder:
    """The run a command means: the folder given, or the project's last one.

    Raises:
        DataError: there is none, or it names data that the user has not agreed to read.
    """
    if run is not None and not (run / "settings.json").is_file():
        raise DataError(
            "this is not a run folder",
            who=str(run),
            hint="name a folder below the project's .runs folder",
        )
    folder = latest_run(project) if run is None else RunFolder(run)
    if folder is None:
        raise DataError(
            "this project has not been trained yet",
            who=project.name,
            hint=f"glassbox train {word_for(project)}",
        )
    check_trust(folder.project(), word_for(project), run)
    return folder


def origin_of(trained: Trained, project: Project, run: Path | None) -> WeightsOrigin:
    """Where the weights of a run come from; ``run`` is the folder that was named, if one was.

    Raises:
        DataError: nothing is known of them.
    """
    if trained.origin is None:
        raise DataError("the origin of the weights is unknown", who=project.name)
    return trained.origin if run is not None else trained.origin.noted(passed_over(project))


def passed_over(project: Project) -> str:
    """Which newer runs have no weights, in a sentence; empty where the last run has.

    Trials of one sweep are no newer than each other: all but the best have none.
    """
    used = latest_run(project)
    if used is None:
        return ""
    own = sweep_of(used)
    later = (run for run in list_runs(project) if run.name > used.name)
    newer = [run.name for run in later if not own or sweep_of(run) != own]
    if not newer:
        return ""
    count = "the newer run has" if len(newer) == 1 else f"the {len(newer)} newer runs have"
    return f"{count} no weights: {newer[-1]}"


def say_origin(origin: WeightsOrigin) -> None:
    """Say which weights an answer comes from, and what else to know about them."""
    console.say(f"weights: {origin.text}")
    for note in origin.notes:
        console.say(f"note: {note}")


def _shares(row: np.ndarray, classes: tuple[str, ...], logits: bool) -> np.ndarray:
    """Probabilities of the classes: a network without a closing softmax or sigmoid gives logits."""
    if not (classes and logits):
        return row
    wide = row.astype(np.float64)
    if row.shape[-1] == 1:
        return np.asarray(0.5 * (1.0 + np.tanh(0.5 * wide)))
    powers = np.exp(wide - wide.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def _answer(row: np.ndarray, classes: tuple[str, ...]) -> str:
    if not classes:
        return " ".join(f"{v:.6g}" for v in row.ravel())
    if row.ndim > 1:
        return _parts(row, classes)
    if len(classes) == 2 and row.size == 1:
        likely = int(row.item() > 0.5)
        share = row.item() if likely else 1 - row.item()
        return f"{classes[likely]} {share:.1%}"
    best = np.argsort(-row)[:_SHOWN]
    return "  ".join(f"{classes[i]} {row[i]:.1%}" for i in best)


def _parts(row: np.ndarray, classes: tuple[str, ...]) -> str:
    """Which share of the positions is taken for which class, the largest first."""
    found = row.argmax(axis=-1) if row.shape[-1] > 1 else (row[..., 0] > 0.5).astype(np.int64)
    shares = np.bincount(found.ravel(), minlength=len(classes)) / found.size
    best = [int(i) for i in np.argsort(-shares)[:_SHOWN] if shares[i] > 0]
    return "  ".join(f"{classes[i]} {shares[i]:.1%} of positions" for i in best)


def _save(
    path: Path, outputs: np.ndarray, names: tuple[str, ...], classes: tuple[str, ...]
) -> None:
    ending = path.suffix.lower()
    if ending == ".npy":
        save_npy(path, outputs)
    elif ending == ".npz":
        save_npz(path, {"outputs": outputs})
    else:
        _save_csv(path, outputs, names, classes)


def _save_csv(
    path: Path, outputs: np.ndarray, names: tuple[str, ...], classes: tuple[str, ...]
) -> None:
    flat = outputs.reshape(len(outputs), -1)
    columns = classes if len(classes) == flat.shape[1] else [f"y{i}" for i in range(flat.shape[1])]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["input", *columns])
    writer.writerows([name, *row.tolist()] for name, row in zip(names, flat, strict=True))
    write_atomic(path, text.getvalue().encode("utf-8"))
