"""A model of another program's file, in Python."""

from __future__ import annotations

from pathlib import Path

from studio.engine.core.errors import StudioError
from studio.engine.interop.imported import ImportReport
from studio.engine.train.importing.project import checkpoint_of, read_model, training_options
from studio.engine.train.model.model import Model
from studio.engine.train.project.sample_facts import facts_of_file


class ImportedNetwork(Model):
    """A model that was read from a file.

    Attributes:
        report: what became of what was in the file.
        facts: what the file says of data, normalisation and classes, as text.
    """

    report: ImportReport
    facts: dict[str, str]


def import_model(path: Path | str, *, backend: str = "auto", seed: int = 0) -> ImportedNetwork:
    """The model in a file of any format that holds one, such as ``.keras``, with its weights.

    It is compiled as the file says, with the state of its optimiser, so that ``fit`` goes on where
    its training stopped. ``report`` says what each layer became and what was left out. Where the
    file says how raw samples are normalised, the model takes raw samples.

    Args:
        path: the file, recognised by its content.
        backend: ``auto``, ``gl`` or ``cpu``.
        seed: of order, dropout and augmentation.

    Raises:
        FormatError: the file is damaged, or of another kind.
        StudioError: something in it is not known here; it is named.
    """
    found = read_model(path)
    made = ImportedNetwork.__new__(ImportedNetwork)
    made._begin(found.graph, backend, seed)
    made.name = found.name
    samples, left_out = facts_of_file(found.facts, found.graph)
    made._know(samples)
    made.report, made.facts = found.report.with_left_out(left_out), dict(found.facts)
    made._weights = dict(found.weights)
    if found.training is not None and found.training.loss:
        try:
            options = training_options(found.graph, found.training)
            made.compile(
                options.get("optimizer", "rmsprop"), options.get("loss"),
                options.get("loss_weights"), options.get("metrics"),
                options.get("weighted_metrics"),
            )  # fmt: skip
        except StudioError as error:
            text = f"how the model was compiled: {error.message}"
            made.report = made.report.with_left_out([text])
        else:
            if found.training.optimizer is not None:
                made._state = checkpoint_of(found)
    return made
