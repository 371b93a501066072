"""The whole flow once, in about a second: draw, save, compile, train, measure, export, read back.

No window, no device but the CPU: it runs before each commit. Each stage has its own tests
elsewhere; this one says that they still fit together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from studio.engine.core.tensor import Role
from studio.engine.interop.file_format import format_named
from studio.engine.isa.text import format_program, parse_program
from studio.engine.train.devices import open_backend
from studio.engine.train.export.exporting import TOLERANCE, exportable
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.network.execute import execute
from studio.engine.train.project.task import Task
from studio.session.document.document import Document
from studio.session.document.edits.chains import NewLayer, add_chain
from studio.session.document.edits.layers import set_option
from studio.session.document.edits.sections import set_data, set_training

if TYPE_CHECKING:
    from pathlib import Path

FLOWERS = {"source": "iris", "normalization": "standard", "test_fraction": 0.2}
LAYERS = [
    NewLayer("Input", {"shape": [4]}),
    NewLayer("Dense", {"units": 4, "activation": "tanh"}),
    NewLayer("Dense", {"units": 3, "activation": "softmax"}),
]


def drawn() -> Document:
    """A project made by edits of the canvas, one of them taken back."""
    document = Document.new("tiny")
    chained = add_chain(document.state, LAYERS)
    document.apply("Add layers", chained.state)
    hidden = chained.ids[1]
    document.apply("Set units", set_option(document.state, hidden, "units", 16))
    document.apply("Set units", set_option(document.state, hidden, "units", 999))
    assert document.undo()
    return document


def test_a_project_is_drawn_trained_exported_and_read_back(tmp_path: Path) -> None:
    document = drawn()
    document.apply("Data", set_data(document.state, FLOWERS))
    adam = {"type": "Adam", "config": {"learning_rate": 0.02}}
    training = {"epochs": 8, "batch_size": 16, "optimizer": adam}
    document.apply("Training", set_training(document.state, training))
    task = Task.of_project(Document.open(document.save(tmp_path / "tiny.glassbox")).project())
    assert task.test is not None
    rows, classes = task.test.inputs[0], task.test.targets[0].reshape(-1)

    with open_backend("cpu") as device, Trainer(task, device.backend) as trainer:
        program = trainer.network.program("train")
        shapes = sorted(tensor.shape for tensor in program.of_role(Role.PARAM))
        assert shapes == [(3,), (3, 16), (16,), (16, 4)]
        text = format_program(program)
        assert format_program(parse_program(text)) == text

        losses = trainer.run().history["loss"]
        measured = trainer.evaluate()
        assert measured["loss"] < losses[0]
        assert losses[-1] < 0.95 * losses[0]

        answers = trainer.trained().predict(rows)
        file = tmp_path / "tiny.gbi"
        format_named("gbi").write(exportable(trainer.trained()), file)
        found = execute(file, rows, device.backend)
    np.testing.assert_allclose(found, answers, atol=TOLERANCE)
    assert np.mean(found.argmax(1) == classes) == pytest.approx(measured["accuracy"])
