"""What the window shows in numbers is what shapes, files, another process and the clock say."""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtWidgets import (
    QAbstractButton,
    QFileDialog,
    QLabel,
    QLineEdit,
    QSlider,
    QToolButton,
    QWidget,
)
from safetensors import safe_open

from studio.engine.profiler.totals import SHORT_US
from studio.ui.panes.export.dialog import ExportDialog
from studio.ui.panes.plots.metric_plot import MetricPlot
from studio.ui.panes.plots.pane import PlotsPane
from studio.ui.panes.profiler.kernel_table import KernelTable
from studio.ui.panes.profiler.pane import ProfilerPane
from studio.ui.panes.runs.run_table import RunTable
from studio.ui.panes.transport.progress import ProgressView
from studio.widgets.fields.scrub_field import ScrubField
from studio.widgets.labels.elided_label import ElidedLabel
from tests.ui.journeys.person import Person
from tests.ui.journeys.shown_numbers import (
    Array,
    RunFiles,
    ShownNumbers,
    answers,
    averaged,
    figure,
    figures,
    seconds,
    tensors_of,
)
from tests.ui.journeys.shown_panes import (
    EPOCHS,
    RATE,
    SAMPLES,
    STEPS,
    WAIT_MS,
    Journey,
    Moment,
    fact,
    held_out_rows,
    look_at_data,
    look_at_inspector,
    look_at_listing,
    look_at_status,
    look_at_tensor_map,
    look_at_test_page,
    open_sample,
    rows_of,
)

PLACES = (
    "status", "toolbar", "runs", "plots", "test page", "profiler", "tensor map", "inspector",
    "exports",
)  # fmt: skip
ROWS = SAMPLES / STEPS
"""Of a step, on average."""
PACE_SECONDS = 10.0
"""The pace is that of so many last seconds."""
TEXT_SECONDS = 1.5
"""How old the words of the toolbar may be where the window is kept busy."""
DASH = "\N{EN DASH}"
_LEFT = re.compile("((?:[^ ]+min )?[^ ]+s) left$")


def _cosine(step: int) -> float:
    """The learning rate of a step, from 0."""
    return 0.5 * RATE * (1.0 + math.cos(math.pi * step / 1350))


# -- the training -------------------------------------------------------------------------------


def _train(journey: Journey) -> None:
    person, training = journey.person, journey.person.studio.training
    person.press("F5")
    for epoch in range(4, EPOCHS, 2):
        person.until(lambda least=epoch: training.status.epoch >= least, WAIT_MS)
        if training.state == "running":
            journey.moments.append(_moment(person))
    person.until(lambda: training.state == "finished", WAIT_MS)
    person.until(lambda: person.studio.evaluation.results, WAIT_MS)


def _moment(person: Person) -> Moment:
    progress = person.see(ProgressView)
    step, left = fact(person, "step"), person.window.findChild(QToolButton, "fact.progress")
    assert left is not None
    return Moment(
        time.time(), progress.accessibleDescription(), progress.toolTip(),
        person.see(ScrubField, "transport.learning_rate").text(), step.text(), step.toolTip(),
        left.text(), left.toolTip(),
    )  # fmt: skip


def _line(tip: str, words: str) -> str:
    return next(line for line in tip.splitlines() if words in line)


def _check_moments(journey: Journey, files: RunFiles) -> None:
    """Pace and time left are those of the steps recorded in the same seconds."""
    seen, steps = journey.seen, files.steps
    assert len(journey.moments) >= 3
    paces, briefs, tips, reached = [], [], [], []
    for number, moment in enumerate(journey.moments):
        elapsed = seconds(_line(moment.tip, "training time"))
        at = int(np.searchsorted(steps["relative"], elapsed + 0.005)) - 1
        pace = figure(_line(moment.tip, "samples/s")).value
        truth = min(_paces(steps["relative"], at), key=lambda each: abs(each - pace))
        paces.append(pace / truth)
        briefs.append(figure(moment.step).value * pace / ROWS)
        tips.append(figure(moment.step_tip).value / pace)
        reached.append((moment.clock, steps["wall"][at]))
        # The words are set now and then; the tip is made when it is read.
        since = int(np.searchsorted(steps["relative"], elapsed - TEXT_SECONDS))
        _check_place(seen, number, moment, range(since, at + 1))
        left = _LEFT.search(moment.toolbar)
        # The end of the first epoch compiles; until there is another it is all that is known.
        if left is not None and since >= 2 * STEPS:
            possible = [
                (EPOCHS * STEPS - each - 1) * ROWS / rate
                for each in range(since, at + 1)
                for rate in _paces(steps["relative"], each)
            ]
            for place, text in (("toolbar", left.group(1)), ("status", moment.progress)):
                told = text.rpartition(", ")[2]
                truth = min(possible, key=lambda each: abs(each - seconds(told)))
                seen.time(place, f"time left, {number}", told, truth, allowed=0.55 + 0.1 * truth)
    (clock, wall), (last_clock, last_wall) = reached[0], reached[-1]
    passed = last_clock - clock
    ratio, allowed = (last_wall - wall) / passed, 0.1 + TEXT_SECONDS / passed
    seen.number("toolbar", "recorded time by the clock", f"{ratio:.3f}", 1.0, within=allowed)
    for place, name, found, within in (
        ("toolbar", "pace by recorded steps", paces, 0.1),
        ("status", "time of a step and pace", briefs, 0.02),
        ("status", "pace as in the toolbar", tips, 0.001),
    ):
        seen.number(place, name, f"{np.mean(found):.4f}", 1.0, within=within)


def _paces(times: Array, at: int) -> list[float]:
    """Samples a second up to a step, since each of those the window may look back to.

    It looks back ten seconds, or to where the first steps are known to be done; reports come in
    between.
    """
    back = times[at] - times[: at - STEPS // 2]
    near = (back >= PACE_SECONDS - 0.1) & (back <= PACE_SECONDS + 3.0)
    if times[at] < PACE_SECONDS + times[STEPS]:
        near[: STEPS + 1] = True
    return [float(ROWS * (at - since) / back[since]) for since in np.flatnonzero(near)]


def _check_place(seen: ShownNumbers, number: int, moment: Moment, steps: range) -> None:
    """Epoch, batch and rate are those of one of the steps recorded just before."""
    at = steps[-1]
    epoch, epochs = (round(each.value) for each in figures(moment.toolbar)[:2])
    seen.text("toolbar", f"epochs, {number}", str(epochs), str(EPOCHS))
    shown = figures(moment.progress)
    seen.text("status", f"epoch, {number}", f"{shown[0].value:.0f}", str(epoch))
    seen.text("status", f"epochs, {number}", f"{shown[1].value:.0f}", str(EPOCHS))
    # At the end of an epoch the time goes on while the last batch stays the last.
    truth = {at // STEPS + 1, (at + 1) // STEPS + 1}
    nearest = min(truth, key=lambda each: abs(each - epoch))
    seen.text("toolbar", f"epoch, {number}", str(epoch), str(nearest))
    # It is that of the next step, and steps are begun before the numbers of others are there.
    rates = [_cosine(step) for step in range(min(steps[0], at - 3), at + STEPS)]
    rate = figure(moment.rate).value
    seen.number("toolbar", f"rate, {number}", moment.rate, min(rates, key=lambda r: abs(r - rate)))


def _look_at_end(journey: Journey, files: RunFiles) -> None:
    """Toolbar and status bar behind the training."""
    person, seen = journey.person, journey.seen
    took = files.marks[-1]["wall"] - files.marks[0]["wall"]
    total = float(str(files.summary["seconds"]))
    progress = person.see(ProgressView)
    text = progress.accessibleDescription()
    seen.number("toolbar", "epochs at the end", text, EPOCHS)
    seen.time("toolbar", "time in all", text.rpartition(f"of {EPOCHS}")[2], total, allowed=0.501)
    tip = _line(progress.toolTip(), "training time")
    seen.number("toolbar", "time in all, exactly", tip, total, digits=3)
    seen.time("toolbar", "time in all by the clock", tip, took, allowed=0.2 + 0.1 * took)
    loss = fact(person, "loss")
    last = float(files.values("loss")[-1])
    seen.number("status", "last loss", loss.text(), last, digits=4)
    exact, _, checked = loss.toolTip().partition("\n")
    seen.number("status", "last loss, exactly", exact, last)
    seen.number("status", "validation loss", checked, files.epochs[-1]["val_loss"], digits=4)
    assert person.see(QToolButton, "fact.state").toolTip() == "Finished"


def _look_at_runs(journey: Journey, files: RunFiles, tested: dict[str, float]) -> None:
    person, seen, place = journey.person, journey.seen, "runs"
    table = person.until(lambda: person.sees(RunTable))
    person.until(lambda: rows_of(table) and rows_of(table)[0]["Test acc."])
    (row,) = rows_of(table)
    last = files.epochs[-1]
    settings = json.loads((files.folder / "settings.json").read_text())["training"]
    parameters = sum(
        value.size for name, value in tensors_of(files.final).items()
        if name.endswith(("/kernel", "/bias"))
    )  # fmt: skip
    for title, truth, digits in (
        ("Val. acc.", last["val_accuracy"], 3), ("Val. loss", last["val_loss"], 4),
        ("Acc.", last["accuracy"], 3), ("Loss", last["loss"], 4),
        ("Test acc.", tested["accuracy"], 3), ("Test loss", tested["loss"], 4),
        ("Epochs", len(files.epochs), None), ("Steps", len(files.steps), None),
        ("Time", float(str(files.summary["seconds"])), 3), ("Learning rate", RATE, 4),
        ("Batch", settings["batch_size"], None), ("Seed", settings["seed"], None),
        ("Parameters", parameters, None),
    ):  # fmt: skip
        seen.number(place, title, row[title], truth, digits=digits)
    seen.text(place, "Data hash", row["Data hash"], str(files.summary["data_hash"])[:12])
    person.click(table.viewport(), table.visualRect(table.model().index(0, 1)).center())
    facts = person.until(lambda: person.sees(QLabel, "run_facts")).text()
    details = _line(facts, "parameters")
    for part, truth in enumerate((9, parameters, RATE, settings["batch_size"], 0)):
        seen.number(place, f"detail {part}", details, truth, part=part)


def _look_at_plots(journey: Journey, files: RunFiles) -> None:
    person, seen = journey.person, journey.seen
    pane = person.until(lambda: person.sees(PlotsPane))
    person.until(lambda: pane.plots and pane.plot("loss").end_labels)

    def labels(metric: str) -> list[str]:
        return [each.tip for each in pane.plot(metric).end_labels]

    for metric in ("loss", "accuracy"):
        trained, checked = labels(metric)
        smooth = averaged(files.values(metric), 0.6)
        seen.number("plots", f"{metric}, smoothed", trained, smooth, digits=3)
        last = float(files.values(metric)[-1])
        seen.number("plots", f"{metric} of the last step", trained, last, part=1, digits=3)
        validation = files.epochs[-1][f"val_{metric}"]
        seen.number("plots", f"validation {metric}", checked, validation, digits=3)
    (rate,) = labels("learning_rate")
    seen.number("plots", "learning rate", rate, _cosine(EPOCHS * STEPS - 1), digits=3)
    slider = person.see(QSlider, "plot_smoothing")
    person.click(slider)
    person.press("Home")
    person.until(lambda: "smoothed" not in labels("loss")[0])
    raw = float(files.values("loss")[-1])
    seen.number("plots", "loss, not smoothed", labels("loss")[0], raw, digits=3)
    assert isinstance(pane.plot("loss"), MetricPlot)


# -- the profiler -------------------------------------------------------------------------------


def _look_at_profiler(journey: Journey, files: RunFiles) -> None:
    person, seen, place = journey.person, journey.seen, "profiler"
    person.press("Ctrl+3")
    pane = person.until(lambda: person.sees(ProfilerPane))
    table = person.until(lambda: person.sees(KernelTable))
    peaks_folder = journey.folder / "places" / "cache" / "peaks"
    person.until(lambda: any(row["Of peak"] != DASH for row in rows_of(table)), WAIT_MS)
    person.until(lambda: not person.studio.tasks.shown, WAIT_MS)
    trace = journey.folder / "trace.json"
    _export_trace(person, trace)
    (peaks,) = (json.loads(path.read_text()) for path in peaks_folder.glob("*.json"))
    times = _times_of(trace)
    median_of_all = sum(float(np.median(t, axis=0).sum()) for t, _ in times.values())
    rows = rows_of(table)
    for row in (*rows[:3], *(r for r in rows if r["Instruction"] == "GATHER_BATCH")):
        _check_kernel(seen, row, times, median_of_all, peaks)
    steps = next(
        each.accessibleName() for each in pane.findChildren(ElidedLabel)
        if each.objectName() == "profiled_steps"
    )  # fmt: skip
    samples, together = next(iter(times.values()))[0].shape[0], _together(trace)
    measured = steps.partition("kernels ")[2]
    seen.number(place, "instrumented steps", measured.partition("(")[2], samples)
    seen.number(place, "kernels together", measured, together, digits=3)
    pause = np.diff(files.steps["relative"])
    inside = pause[(np.arange(1, len(pause) + 1) % STEPS) != 0]
    shown = person.see(QLabel, "step_time")
    seen.number(place, "a step", shown.text(), float(inside.mean()), digits=3, within=0.25)
    status = fact(person, "step")
    seen.number("status", "a step as in the profiler", status.text(), figure(shown.text()).value)


def _export_trace(person: Person, path: Path) -> None:
    person.command("export trace")
    dialog = person.until(lambda: person.window.findChild(QFileDialog, "export_dialog"))
    assert dialog is not None
    name = dialog.findChild(QLineEdit, "fileNameEdit")
    assert name is not None
    person.fill(name, str(path))
    save = next(b for b in dialog.findChildren(QAbstractButton) if "Save" in b.text())
    person.click(save)
    person.until(path.is_file)
    # Without a window manager nothing gives the focus back.
    person.window.activateWindow()
    person.until(person.window.isActiveWindow)


Times = dict[tuple[str, str, str], tuple[Array, list[dict[str, Any]]]]


def _times_of(trace: Path) -> Times:
    """Microseconds [steps, calls] of each kernel of a layer, and what its calls are declared as."""
    found: dict[tuple[str, str, str], dict[int, list[dict[str, Any]]]] = {}
    for event in json.loads(trace.read_text())["traceEvents"]:
        if event["ph"] == "X" and "kernel" in event["args"]:
            facts = event["args"]
            key = (event["name"], facts["section"], ", ".join(facts["layers"]))
            found.setdefault(key, {}).setdefault(facts["index"], []).append(event)
    return {
        key: (
            np.array([[e["dur"] for e in calls] for calls in by_index.values()]).T,
            [calls[0]["args"] for calls in by_index.values()],
        )
        for key, by_index in found.items()
    }


def _together(trace: Path) -> float:
    """Seconds that the kernels of a step usually take, one after the other."""
    times = np.concatenate([each for each, _ in _times_of(trace).values()], axis=1)
    return float(np.median(times.sum(axis=1))) * 1e-6


def _check_kernel(
    seen: ShownNumbers, row: dict[str, str], times: Times, whole: float, peaks: dict[str, float]
) -> None:
    """A row of the kernel table against the single calls of the trace."""
    spent, calls = times[row["Instruction"], row["Section"], row["Layer"]]
    name = f"{row['Instruction']} of {row['Layer']}"
    usual = np.median(spent, axis=0)
    flops, moved = (sum(call[key] for call in calls) for key in ("flops", "bytes"))
    least = sum(
        max(call["flops"] / peaks["gflops"], call["bytes"] / peaks["gbytes"]) * 1e-3
        for call in calls
    )
    reached = least / usual.sum()
    for title, truth in (
        ("Calls", spent.size), ("Total ms", spent.sum() * 1e-3), ("Median µs", np.median(spent)),
        ("Mean µs", spent.mean()), ("p95 µs", np.percentile(spent, 95)), ("Min µs", spent.min()),
        ("Max µs", spent.max()), ("Share", usual.sum() / whole),
        ("Wasted µs", usual.sum() * (1.0 - reached) / len(calls)), ("Of peak", reached),
    ):  # fmt: skip
        if title in ("Wasted µs", "Of peak") and row[title] == DASH:
            # Too short for the clock, or faster than the peaks that few calls have raised yet.
            assert usual.sum() < 1.05 * SHORT_US or reached > 0.99
            continue
        seen.number("profiler", f"{title} of {name}", row[title], float(truth), digits=None)
    for title, truth in (
        ("GB/s", moved / usual.sum() * 1e-3), ("GFLOP/s", flops / usual.sum() * 1e-3),
        ("FLOP", flops / len(calls)), ("Bytes", moved / len(calls)),
    ):  # fmt: skip
        seen.number("profiler", f"{title} of {name}", row[title], float(truth), digits=3)


# -- exports ------------------------------------------------------------------------------------


def _look_at_export(
    journey: Journey, files: RunFiles, pictures: np.ndarray[Any, Any], shares: Array
) -> None:
    """Export an instruction file, and ask it in another process."""
    person, seen, place = journey.person, journey.seen, "exports"
    person.press("Ctrl+E")
    dialog = person.until(lambda: person.window.findChild(ExportDialog))
    assert dialog is not None
    note = person.until(lambda: t if figures(t := _said(dialog, "preview_note")) else "")
    origin_shown = person.until(lambda: dialog.findChild(QLabel, "export_weights"))
    weights = person.until(lambda: origin_shown.isVisible() and origin_shown.text())
    path = journey.folder / "mine.gbi"
    person.fill(person.see(QLineEdit, "export_path", dialog), str(path))
    person.click(person.button("Export", dialog))
    person.until(lambda: person.studio.exporting.result, WAIT_MS)
    sentence = person.see(QLabel, "finding_sentence", dialog)
    person.until(lambda: sentence.text().startswith("Same model"))
    size = path.stat().st_size
    seen.number(place, "size before it is written", note, size, digits=3)
    details = person.until(lambda: person.see(QLabel, "finding_details", dialog).text())
    written, origin, found = details.split("\n")
    seen.number(place, "size", written.partition(f"{path} (")[2], size, digits=3)
    trained = json.loads(_metadata(files.final)["state"])
    for name, text in (("epoch", weights), ("epoch written", origin)):
        seen.number(place, name, text.partition("epoch ")[2], _epoch_of(trained))
        assert files.final.name in text
    rows = journey.folder / "rows.npy"
    np.save(rows, pictures)
    told = journey.folder / "told.npy"
    journey.told_apart("exec", str(path), "--input", str(rows), "--output", str(told),
                       "--backend", "cpu")  # fmt: skip
    given = np.load(told)
    np.testing.assert_allclose(given, shares, atol=1e-5)
    same = given.argmax(axis=1) == shares.argmax(axis=1)
    seen.number(place, "samples of the same class", found.partition("all ")[2], same[:64].sum())
    proof = json.loads(path.with_name(f"{path.name}.proof.json").read_text())
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    seen.text(place, "hash beside the file", proof["sha256"], digest)
    said = sentence.text()
    seen.number(place, "samples compared", said, proof["samples"], part=1)
    seen.number(place, "largest difference", said, proof["max_abs"], digits=1)
    difference = found.rpartition("at most ")[2]
    seen.number(place, "difference", difference, proof["max_relative"], digits=2)
    person.click(person.button("Close", dialog))


def _said(place: QWidget, name: str) -> str:
    label = place.findChild(ElidedLabel, name)
    return "" if label is None else label.accessibleName()


def _metadata(path: Path) -> dict[str, str]:
    with safe_open(path, framework="numpy") as file:
        return dict(file.metadata())


def _epoch_of(state: dict[str, Any]) -> int:
    """The epoch a checkpoint was written behind."""
    return int(state["position"]["epoch"])


@pytest.mark.slow
def test_every_number_shown_is_so(person: Person, tmp_path: Path) -> None:
    journey = Journey(person, tmp_path)
    open_sample(journey)
    program = json.loads(journey.told_apart("compile", str(journey.project), "--json"))
    look_at_status(journey, program)
    look_at_data(journey)
    look_at_inspector(journey, program)
    look_at_listing(journey, program)
    look_at_tensor_map(journey, program)
    _train(journey)
    files = journey.run_files()
    _check_moments(journey, files)
    _look_at_end(journey, files)
    pictures, truth = held_out_rows(journey)
    told = json.loads(
        journey.told_apart("evaluate", str(journey.project), "--json", "--backend", "cpu")
    )
    shares = answers(tensors_of(files.final), pictures / 16.0)
    look_at_test_page(journey, shares, truth, told["test"])
    _look_at_runs(journey, files, told["test"])
    _look_at_plots(journey, files)
    _look_at_profiler(journey, files)
    _look_at_export(journey, files, pictures, shares)
    journey.seen.check(PLACES, least=60, least_each=3)
