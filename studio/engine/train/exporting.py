"""Takes a trained model out: instruction file, listing, weights, checkpoint; each read back.

After a file is written it is loaded again and run on stored samples; the largest difference to
the network's own answers is part of the result, and one above the tolerance is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.compiler.pipeline import Folding
from studio.engine.compiler.target import CPU
from studio.engine.core.errors import DataError, FormatError, ParameterError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.core.tensor import Role, bind_shape
from studio.engine.formats import safetensors
from studio.engine.formats.gbasm import load_gbasm, save_gbasm
from studio.engine.formats.gbi import save_gbi
from studio.engine.formats.npz import save_npz
from studio.engine.isa.program import Program
from studio.engine.train.checkpoint import Checkpoint
from studio.engine.train.execute import execute, run_program
from studio.engine.train.trained import Trained
from studio.engine.train.weight_files import load_weights, weights_metadata
from studio.engine.train.weights import public_weights

Array: TypeAlias = npt.NDArray[np.generic]
Floats: TypeAlias = npt.NDArray[np.float32]

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
    if form not in _WRITERS:
        raise ParameterError(
            f"expected a format out of {', '.join(EXPORT_FORMATS)}, got {quoted(form)}",
            who="export",
            hint=did_you_mean(form, EXPORT_FORMATS),
        )
    target, rows = Path(path), sample_rows(trained)
    answers = _WRITERS[form](trained, target, rows)
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
    forms = [f for f in EXPORT_FORMATS if f != "checkpoint" or trained.checkpoint is not None]
    return [export_file(trained, f, into / f"{stem or 'model'}{_ENDINGS[f]}") for f in forms]


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


def _write_gbi(trained: Trained, path: Path, rows: list[Array]) -> list[Floats]:
    program, weights = inference_program(trained)
    save_gbi(path, program, weights)
    return [execute(path, rows, trained.network.backend)]


def _write_gbasm(trained: Trained, path: Path, rows: list[Array]) -> list[Floats]:
    program, weights = inference_program(trained)
    save_gbasm(path, program)
    return run_program(trained.network.backend, load_gbasm(path), weights, rows)


def _write_safetensors(trained: Trained, path: Path, rows: list[Array]) -> list[Floats]:
    weights = public_weights(trained.task.graph, trained.weights())
    safetensors.save(path, weights, weights_metadata(trained.task))
    return _with_weights(trained, load_weights(path, trained.task.graph), rows)


def _write_npz(trained: Trained, path: Path, rows: list[Array]) -> list[Floats]:
    save_npz(path, public_weights(trained.task.graph, trained.weights()))
    return _with_weights(trained, load_weights(path, trained.task.graph), rows)


def _write_checkpoint(trained: Trained, path: Path, rows: list[Array]) -> list[Floats]:
    if trained.checkpoint is None:
        raise DataError(
            "these weights come without optimiser and step, so there is no checkpoint to write",
            who=trained.task.name,
            hint="export them as safetensors",
        )
    trained.checkpoint.save(path)
    return _with_weights(trained, Checkpoint.load(path).tensors, rows)


def _with_weights(
    trained: Trained, weights: Mapping[str, Array], rows: list[Array]
) -> list[Floats]:
    with Trained.of_weights(trained.task, trained.network.backend, weights) as again:
        return again.predict_all(rows)


def _difference(answers: list[Floats], expected: list[Floats]) -> float:
    """Largest |difference|/max(1, |expected|) over the outputs compared; NaN where one is NaN."""
    worst = 0.0
    for got, wanted in zip(answers, expected, strict=False):
        wide = wanted.astype(np.float64)
        gap = np.abs(got - wide) / np.maximum(1.0, np.abs(wide))
        worst = max(worst, float(gap.max())) if np.isfinite(gap).all() else float("nan")
    return worst


_WRITERS: dict[str, Callable[[Trained, Path, list[Array]], list[Floats]]] = {
    "gbi": _write_gbi,
    "gbasm": _write_gbasm,
    "safetensors": _write_safetensors,
    "npz": _write_npz,
    "checkpoint": _write_checkpoint,
}
_ENDINGS = {
    "gbi": ".gbi",
    "gbasm": ".gbasm",
    "safetensors": ".safetensors",
    "npz": ".npz",
    "checkpoint": ".checkpoint.safetensors",
}
EXPORT_FORMATS: tuple[str, ...] = tuple(_WRITERS)
"""What can be written."""
