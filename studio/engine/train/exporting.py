"""Takes a trained model out: instruction file, listing, weights, checkpoint; each read back.

After a file is written it is loaded again and run on stored samples; the largest difference to
the network's own answers is part of the result, and one above the tolerance is an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.compiler.pipeline import Folding
from studio.engine.compiler.target import CPU
from studio.engine.core.errors import DataError, FormatError
from studio.engine.core.tensor import Role, bind_shape
from studio.engine.interop.file_format import Exportable, ModelFile, file_formats, format_named
from studio.engine.isa.program import Program
from studio.engine.train.execute import run_program
from studio.engine.train.trained import Trained

Array: TypeAlias = npt.NDArray[np.generic]
Floats: TypeAlias = npt.NDArray[np.float32]

if TYPE_CHECKING:
    EXPORT_FORMATS: tuple[str, ...]

TOLERANCE = 1e-5
SAMPLES = 256


@dataclass(frozen=True)
class Export:
    """One file written.

    Attributes:
        format: one of `EXPORT_FORMATS`.
        path: where it is.
        difference: largest difference of its answers from the network's, relative above 1.
        rows: stored samples that were compared.
    """

    format: str
    path: Path
    difference: float
    rows: int


def inference_program(trained: Trained) -> tuple[Program, dict[str, Array]]:
    """The self-contained program of a trained network, and its weights by tensor name.

    It takes raw input, normalises it, and carries class names and a hash of the data; batch
    normalisations are folded into the layers before them.
    """
    stored = trained.weights()
    folding = Folding(lambda name: stored[name])
    program = trained.network.programs.compile("infer", 2, CPU, folding=folding)
    values = {**stored, **folding.values}
    return program, {t.name: values[t.name] for t in program.of_role(Role.PARAM, Role.STATE)}


def exportable(trained: Trained) -> Exportable:
    """A trained network as file formats write it."""
    task = trained.task
    return Exportable(
        task.name,
        task.graph,
        trained.weights(),
        task.facts,
        trained.checkpoint,
        lambda: inference_program(trained),
    )


def export_file(trained: Trained, form: str, path: Path | str) -> Export:
    """Write one file, read it back and compare.

    Args:
        trained: the network with its weights.
        form: one of `EXPORT_FORMATS`.
        path: file to write; its folder must exist.

    Raises:
        ParameterError: an unknown format.
        FormatError: the file cannot be written, or answers differently when read back.
    """
    chosen, target = format_named(form), Path(path)
    model, rows = exportable(trained), sample_rows(trained)
    chosen.write(model, target)
    answers = _answers(trained, chosen.read(target, trained.task.graph), model, rows)
    difference = _difference(answers, trained.predict_all(rows))
    if not difference <= TOLERANCE:
        raise FormatError(
            f"read back, the file's answers differ by {difference:.3g}: expected at most "
            f"{TOLERANCE:g}",
            who=str(target),
        )
    return Export(form, target, difference, len(rows[0]))


def export_all(trained: Trained, folder: Path | str) -> list[Export]:
    """Every format into a folder, made where missing, named after the project."""
    into = Path(folder)
    try:
        into.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot be made: {error.strerror}", who=str(into)) from error
    stem = "".join(c if c.isalnum() or c in "-_." else "_" for c in trained.task.name).strip(".")
    model = exportable(trained)
    return [
        export_file(trained, form.name, into / f"{stem or 'model'}{form.ending}")
        for form in file_formats()
        if form.why_not(model) is None
    ]


def sample_rows(trained: Trained) -> list[Array]:
    """Raw rows to compare answers on: of the test part, else any there are, else even steps."""
    task = trained.task
    chosen = task.test or task.validation or task.training
    if chosen is not None:
        return [np.ascontiguousarray(array[:SAMPLES]) for array in chosen.inputs]
    program = trained.network.program("infer")
    rows: list[Array] = []
    for tensor in (program.tensors[i] for i in program.inputs):
        shape = bind_shape(tensor.shape, 16)
        steps = np.linspace(-1.0, 1.0, int(np.prod(shape)), dtype=np.float32)
        rows.append(steps.reshape(shape).astype(tensor.dtype.np))
    return rows


def _answers(
    trained: Trained, file: ModelFile, model: Exportable, rows: list[Array]
) -> list[Floats]:
    backend = trained.network.backend
    if file.program is not None:
        return run_program(backend, file.program, file.weights or model.program[1], rows)
    with Trained.of_weights(trained.task, backend, file.weights) as again:
        return again.predict_all(rows)


def _difference(answers: list[Floats], expected: list[Floats]) -> float:
    """Largest |difference|/max(1, |expected|) over the outputs compared; NaN where one is NaN."""
    worst = 0.0
    for got, wanted in zip(answers, expected, strict=False):
        wide = wanted.astype(np.float64)
        gap = np.abs(got - wide) / np.maximum(1.0, np.abs(wide))
        worst = max(worst, float(gap.max())) if np.isfinite(gap).all() else float("nan")
    return worst


def __getattr__(name: str) -> tuple[str, ...]:
    """``EXPORT_FORMATS``, the names of all formats; a module that is loaded later may add one."""
    if name == "EXPORT_FORMATS":
        return tuple(form.name for form in file_formats())
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
