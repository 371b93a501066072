"""What panes show of a network and its test, looked at by a person and compared with the truth."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from PySide6.QtCore import QAbstractItemModel, Qt
from PySide6.QtWidgets import (
    QLabel,
    QLineEdit,
    QTableView,
    QToolButton,
    QWidget,
)

from studio.instruction_view.listing.view import ListingView
from studio.instruction_view.tensor_map.tensor_table import TensorTable
from studio.ui.panes.data.pane import DataPane
from studio.ui.panes.inspector.pane import InspectorPane
from studio.ui.panes.testing.answer_view import AnswerView
from studio.ui.panes.testing.matrix_view import MatrixView
from studio.ui.panes.testing.pane import TestingPane
from studio.ui.panes.testing.samples_view import SamplesView
from studio.widgets.fields.scrub_field import ScrubField
from studio.widgets.labels.elided_label import ElidedLabel
from tests.ui.journeys.person import Person
from tests.ui.journeys.shown_numbers import (
    Array,
    Count,
    RunFiles,
    ShownNumbers,
    figure,
)

EPOCHS = 16
STEPS = 45
"""Of an epoch: 1,437 samples in batches of 32."""
SAMPLES = 1437
WAIT_MS = 120_000
COUNT = Count()
RATE = 0.003
DIGITS = Path(__file__).parents[3] / "projects" / "data" / "digits.npz"


@dataclass
class Moment:
    """What the window said of a training under way, and when."""

    clock: float
    toolbar: str
    tip: str
    rate: str
    step: str
    step_tip: str
    progress: str
    progress_tip: str


@dataclass
class Journey:
    """One session at the window, and what was seen in it."""

    person: Person
    folder: Path
    seen: ShownNumbers = field(default_factory=ShownNumbers)
    moments: list[Moment] = field(default_factory=list)

    @property
    def project(self) -> Path:
        found = self.person.studio.document.project().path
        assert found is not None
        return found

    def run_files(self) -> RunFiles:
        (folder,) = self.project.with_suffix(".runs").iterdir()
        return RunFiles.read(folder)

    def told_apart(self, *words: str) -> str:
        """What another process says."""
        command = [sys.executable, "-m", "studio", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


# -- reading ------------------------------------------------------------------------------------


def fact(person: Person, name: str) -> QToolButton:
    """A fact of the status bar."""
    return person.see(QToolButton, f"fact.{name}")


def _facts(pane: QWidget) -> dict[str, str]:
    """Lines of a name and a value, as they are read aloud."""
    labels = [each for each in pane.findChildren(ElidedLabel) if each.isVisible()]
    pairs = (each.accessibleName().partition(": ") for each in labels)
    return {name: value for name, mark, value in pairs if mark}


def rows_of(table: QTableView | ListingView | TensorTable) -> list[dict[str, str]]:
    """Rows of a table as its cells show them, by their headings."""
    model: QAbstractItemModel = table.model()
    across = Qt.Orientation.Horizontal
    titles = [str(model.headerData(c, across)).strip("▾▴ ") for c in range(model.columnCount())]
    return [
        {title: str(model.index(row, c).data() or "").strip() for c, title in enumerate(titles)}
        for row in range(model.rowCount())
    ]


# -- before the training ------------------------------------------------------------------------


def open_sample(journey: Journey) -> None:
    """Open the example by its card, change the epochs and save."""
    person = journey.person
    studio = person.studio
    person.click(person.card("digits-cnn"))
    person.until(lambda: studio.compilation.result and not studio.compilation.is_compiling, WAIT_MS)
    person.until(lambda: studio.data.status == "ready", WAIT_MS)
    assert journey.project.is_relative_to(journey.folder)
    person.point_at_canvas()
    person.press("Escape")
    field = person.until(lambda: person.sees(QLineEdit, "field_epochs"))
    person.fill(field, str(EPOCHS))
    compilation = studio.compilation
    person.until(lambda: compilation.result and not compilation.stale_edits, WAIT_MS)
    person.press("Ctrl+S")
    person.until(lambda: json.loads(journey.project.read_text())["training"]["epochs"] == EPOCHS)


def look_at_data(journey: Journey) -> None:
    """Data pane."""
    person, seen = journey.person, journey.seen
    person.click(*person.until(lambda: person.tab("Data")))
    pane = person.until(lambda: person.sees(DataPane))
    line = person.until(lambda: person.sees(QLabel, "data_line"))
    with np.load(DIGITS) as digits:
        count, high, wide = digits["x"].shape
    seen.number("data", "pictures", line.text(), count)
    seen.number("data", "rows", line.text(), high, part=1)
    seen.number("data", "columns", line.text(), wide, part=2)
    part = person.until(lambda: person.sees(QLabel, "sample_count"))
    seen.number("data", "training samples", part.text(), count - math.ceil(0.2 * count))
    assert pane.isVisible()


def look_at_inspector(journey: Journey, program: dict[str, Any]) -> None:
    """Inspector of the network and of one layer."""
    person, seen = journey.person, journey.seen
    pane = person.until(lambda: person.sees(InspectorPane))
    person.point_at_canvas()
    person.press("Escape")
    facts = person.until(lambda: f if "work of a step" in (f := _facts(pane)) else None)
    nodes = json.loads(journey.project.read_text())["graph"]["nodes"]
    seen.number("inspector", "layers", facts["layers"], len(nodes))
    parameters = sum(COUNT.parameters.values())
    seen.number("inspector", "parameters", facts["parameters"], parameters)
    seen.number("inspector", "instructions", facts["instructions"], len(program["instructions"]))
    seen.number("inspector", "work of a step", facts["work of a step"], COUNT.step, digits=3)
    peak = program["memory"]["peak_bytes"]
    seen.number("inspector", "memory of a step", facts["memory of a step"], peak, digits=3)
    person.click_layer("conv2")
    facts = person.until(lambda: f if "forward" in (f := _facts(pane)) else None)
    seen.text("inspector", "conv2 in", facts["in"], "[8,8,16]")
    seen.text("inspector", "conv2 out", facts["out"], "[8,8,32]")
    seen.number("inspector", "conv2 parameters", facts["parameters"], COUNT.parameters["conv2"])
    relu = 32 * 8 * 8 * 32
    seen.number("inspector", "conv2 forward", facts["forward"], COUNT.conv2 + relu, digits=3)
    weights = 4 * COUNT.parameters["conv2"]
    moved = COUNT.tensor(8, 8, 16) + weights + COUNT.tensor(8, 8, 32)
    seen.number("inspector", "conv2 moves", facts["forward"], moved, part=1, digits=3)
    seen.number("inspector", "conv2 back", facts["backward"], 3 * COUNT.conv2 + relu, digits=3)


def look_at_listing(journey: Journey, program: dict[str, Any]) -> None:
    """Listing of the training program."""
    person, seen = journey.person, journey.seen
    rows = rows_of(person.until(lambda: person.sees(ListingView)))
    count = len(program["instructions"])
    seen.number("listing", "instructions", str(len(rows)), count)
    for row, other in zip(rows, program["instructions"], strict=True):
        assert row["Instruction"] == other["text"]

    def row_of(start: str) -> dict[str, str]:
        return next(row for row in rows if row["Instruction"].startswith(start))

    batch = COUNT.batch
    place = "listing"
    # Of the data set only the rows of the batch are read, by their numbers and the step's words.
    words = 4 * batch + 4 * 8
    gather, shift = row_of("GATHER_BATCH 0x1b")["Bytes"], row_of("AUGMENT_SHIFT")["Bytes"]
    seen.number(place, "gather moves", gather, 2 * 64 * batch + words, digits=3)
    seen.number(place, "shift moves", shift, 2 * COUNT.tensor(8, 8) + words, digits=3)
    recorded = 2 * 4 + 2 * 2 * 4 + 4 * 8
    seen.number(place, "record moves", row_of("RECORD")["Bytes"], recorded, digits=3)
    seen.number(place, "normalise operations", row_of("NORMALIZE")["FLOPs"], 2 * 64 * batch)
    conv1, conv2 = (row_of(f"CONV2D 0x{n}")["FLOPs"] for n in (1, 5))
    seen.number(place, "conv1 operations", conv1, COUNT.conv1, digits=3)
    seen.number(place, "conv2 operations", conv2, COUNT.conv2, digits=3)
    pool = COUNT.tensor(8, 8, 32) + COUNT.tensor(4, 4, 32)
    seen.number(place, "pool moves", row_of("MAXPOOL2D")["Bytes"], pool, digits=3)
    linear = row_of("LINEAR 0xc")["FLOPs"]
    seen.number(place, "hidden operations", linear, COUNT.linear(64, 512), digits=3)
    back = row_of("GRADS_LINEAR 0xc")["FLOPs"]
    seen.number(place, "hidden back", back, 3 * COUNT.linear(64, 512), digits=3)
    adam = row_of("FUSE {kind=update}")["FLOPs"]
    seen.number(place, "update operations", adam, 20 * sum(COUNT.parameters.values()), digits=3)


def look_at_tensor_map(journey: Journey, program: dict[str, Any]) -> None:
    """Tensor map: table and sums of roles."""
    person, seen, place = journey.person, journey.seen, "tensor map"
    person.click(*person.until(lambda: person.tab("Tensor map")))
    rows = rows_of(person.until(lambda: person.sees(TensorTable)))
    by_id = {row["Register"]: row for row in rows}
    data = [row for row in rows if not row["Register"].endswith(".grad")]
    seen.number(place, "tensors", str(len(data)), len(program["tensors"]))
    ids = sorted(int(row["Register"], 16) for row in data)
    seen.number(place, "highest register", str(max(ids)), len(program["tensors"]) - 1)
    truths = {
        "0x0": COUNT.tensor(8, 8, 1), "0x4": COUNT.tensor(8, 8, 16), "0x8": COUNT.tensor(8, 8, 32),
        "0x9": COUNT.tensor(4, 4, 32), "0xc.grad": 4 * 64 * 512, "0x14": COUNT.tensor(10),
        "0x19": 4 * SAMPLES, "0x1b": 64 * SAMPLES,
    }  # fmt: skip
    for register, nbytes in truths.items():
        seen.number(place, f"bytes of {register}", by_id[register]["Bytes"], nbytes, digits=3)
    for name, nbytes in {
        "gradient": COUNT.gradients, "slot": 8 * sum(COUNT.parameters.values()),
        "parameter": 4 * sum(COUNT.parameters.values()), "data": SAMPLES * (64 + 4 + 4),
    }.items():  # fmt: skip
        button = person.window.findChild(QToolButton, f"tensor_map.role.{name}")
        assert button is not None
        total = button.toolTip().partition("\n")[2]
        seen.number(place, f"all of {name}", total, nbytes)
        seen.number(place, f"all of {name}, short", button.text(), nbytes, digits=3)
    _look_at_places(journey, rows, program)


def _look_at_places(journey: Journey, rows: list[dict[str, str]], program: dict[str, Any]) -> None:
    """Tensors that are needed at the same time lie beside each other, and the peak is their sum."""
    seen, place = journey.seen, "tensor map"
    boxes = []
    for row in rows:
        span = re.fullmatch(r"(\d+) to (\d+)", row["Needed"])
        if span and row["Bytes"] and row["Offset"]:
            sides = [int(n) for n in row["Shape"].strip("[]").replace("N", "32").split(",") if n]
            size = {"uint8": 1}.get(row["Type"], 4) * math.prod(sides)
            first, last = (int(n) for n in span.groups())
            boxes.append((first, last, int(row["Offset"], 16), size))
    apart = program["memory"]
    alive = [sum(b[3] for b in boxes if b[0] <= line <= b[1]) for line in range(49)]
    device = fact(journey.person, "device")
    needed = device.toolTip().split("A step needs ")[1]
    seen.number("status", "memory of a step", needed, max(alive), digits=3)
    seen.number("status", "memory of a step, short", device.text(), max(alive), digits=3)
    end = max(offset + size for _, _, offset, size in boxes)
    seen.number(place, "end of the arena", str(end), apart["arena_bytes"])
    overlaps = sum(
        one[0] <= other[1] and other[0] <= one[1]
        and one[2] < other[2] + other[3] and other[2] < one[2] + one[3]
        for n, one in enumerate(boxes) for other in boxes[:n]
    )  # fmt: skip
    seen.number(place, "overlapping tensors", str(overlaps), 0)


def look_at_status(journey: Journey, program: dict[str, Any]) -> None:
    """Status bar and toolbar before anything is trained."""
    person, seen = journey.person, journey.seen
    tip = fact(person, "compile").toolTip()
    seen.number("status", "instructions", tip, len(program["instructions"]))
    zoom = 0.01 * round(100 * person.canvas.transform().m11())
    seen.number("status", "zoom", fact(person, "zoom").text(), zoom)
    rate = person.see(ScrubField, "transport.learning_rate")
    seen.number("toolbar", "rate to begin with", rate.text(), RATE)


# -- the test page ------------------------------------------------------------------------------


def held_out_rows(journey: Journey) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Pictures and digits of the test part: which samples they are is all that is asked."""
    summary = journey.person.studio.data.summary
    assert summary is not None
    indices = np.asarray(summary.parts[-1].indices)
    with np.load(DIGITS) as digits:
        return digits["x"][indices][..., np.newaxis], digits["y"][indices].astype(int)


def look_at_test_page(
    journey: Journey, shares: Array, truth: np.ndarray[Any, Any], tested: dict[str, float]
) -> None:
    """Test page: totals, matrix, samples and an answer."""
    person, seen, place = journey.person, journey.seen, "test page"
    person.press("Ctrl+2")
    pane = person.until(lambda: person.sees(TestingPane))
    person.until(lambda: person.sees(MatrixView))
    texts = [each.text() for each in pane.findChildren(QLabel) if each.isVisible()]
    accuracy, loss = (texts[texts.index(name) + 1] for name in ("Accuracy", "Loss"))
    predicted = shares.argmax(axis=1)
    losses = -np.log(np.maximum(shares[np.arange(len(truth)), truth], 1e-7))
    right = float((predicted == truth).mean())
    seen.number(place, "accuracy", accuracy, right, digits=3)
    seen.number(place, "accuracy as another process says", accuracy, tested["accuracy"], digits=3)
    seen.number(place, "loss", loss, float(losses.mean()), digits=4, within=1e-5)
    seen.number(place, "loss as another process says", loss, tested["loss"], digits=4)
    about = next(text for text in texts if "samples; weights of" in text)
    seen.number(place, "samples", about, len(truth))
    seen.number(place, "epoch of the weights", about, EPOCHS, part=1)
    matrix = person.see(MatrixView)
    wrong = matrix.accessibleDescription()
    seen.number(place, "wrong samples", wrong, int((predicted != truth).sum()))
    seen.number(place, "samples of the matrix", wrong, len(truth), part=1)
    _look_at_matrix(journey, matrix, predicted, truth)
    _look_at_answers(journey, shares, truth, losses)


def _look_at_matrix(
    journey: Journey, matrix: MatrixView, predicted: np.ndarray[Any, Any],
    truth: np.ndarray[Any, Any],
) -> None:  # fmt: skip
    """Every cell, gone to by the arrow keys."""
    person, seen, place = journey.person, journey.seen, "test page"
    person.click(matrix, matrix.cell_rect((0, 0)).center().toPoint())
    person.press("Escape")
    shown = np.zeros((10, 10), int)
    for row in range(10):
        for column in range(10):
            person.press(*(["Left"] if not column else []), "Right" if column else "Left")
            text = matrix.accessibleDescription()
            shown[row, column] = figure(text).value
            if row == column:
                own = truth == row
                right = int((own & (predicted == row)).sum())
                seen.number(place, f"{row} recognised", text, right)
                seen.number(place, f"all of {row}", text, int(own.sum()), part=1)
        person.press(*["Left"] * 9, "Down")
    counted = np.zeros((10, 10), int)
    np.add.at(counted, (truth, predicted), 1)
    seen.number(place, "cells that differ", str(int((shown != counted).sum())), 0)


def _look_at_answers(
    journey: Journey, shares: Array, truth: np.ndarray[Any, Any], losses: Array
) -> None:
    """The samples that cost most, and what is said about the first."""
    person, seen, place = journey.person, journey.seen, "test page"
    view = person.until(lambda: person.sees(SamplesView))
    model = view.model()
    for row in range(4):
        text = str(model.index(row, 0).data())
        worst = int(np.argsort(-losses, kind="stable")[row])
        seen.number(place, f"sample {row}", text, worst)
        said = int(shares[worst].argmax())
        seen.text(place, f"classes of sample {row}", text.partition(": ")[2].partition(" with")[0],
                  f"{truth[worst]} predicted as {said}")  # fmt: skip
        seen.number(place, f"share of sample {row}", text.rpartition("with ")[2],
                    float(shares[worst, said]), digits=3, within=1e-5)  # fmt: skip
        seen.number(place, f"loss of sample {row}", text.rpartition("loss ")[2],
                    float(losses[worst]), digits=3, within=1e-5)  # fmt: skip
    person.click(view.viewport(), view.visualRect(model.index(0, 0)).center())
    answer = person.until(lambda: person.sees(AnswerView))
    person.until(lambda: answer.accessibleDescription().count("%") >= 8)
    worst = int(np.argmax(losses))
    for part in answer.accessibleDescription().split(", "):
        name, _, share = part.partition(" ")
        if not share.startswith("<"):
            seen.number(place, f"share of {name}", share, float(shares[worst, int(name)]),
                        within=1e-4)  # fmt: skip
