"""Writes trained models to files, and puts each in its place once it was found to be the same.

A file is written beside its place and checked there by a new process (`check`). One that is
another model never takes its place, so that a good file of before is kept. Of several files each
stands for itself: what is wrong with one keeps none of the others back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.compiler.pipeline import Folding
from studio.engine.compiler.target import CPU
from studio.engine.core.errors import DataError, FormatError, StudioError, quoted
from studio.engine.core.progress import Progress, unheard
from studio.engine.core.tensor import Role
from studio.engine.formats.atomic import StagedFile, StagedFolder, write_error
from studio.engine.interop.file_format import (
    Exportable,
    ExportedTraining,
    FileFormat,
    file_formats,
    format_named,
    require_ending,
    require_weights,
)
from studio.engine.interop.small_program import with_small_weights
from studio.engine.interop.small_weights import SmallWeight, WeightForm, weight_form
from studio.engine.isa.program import Program
from studio.engine.train.export.check.answers import TOLERANCE as TOLERANCE
from studio.engine.train.export.check.check import ExportCheck, Written, check_files
from studio.engine.train.export.check.process import file_hash, stored_bytes
from studio.engine.train.export.check.report import forget_report, write_report
from studio.engine.train.export.preprocessing import stated_facts
from studio.engine.train.export.small_weights import (
    Narrowed,
    SmallWeightsReport,
    measured,
    narrowed_network,
)
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.project import Project

if TYPE_CHECKING:
    EXPORT_FORMATS: tuple[str, ...]

Array: TypeAlias = npt.NDArray[np.generic]
Staged: TypeAlias = StagedFile | StagedFolder


@dataclass(frozen=True)
class Export:
    """One export: what was written and found.

    Attributes:
        form: the format.
        path: where the file belongs.
        nbytes: its length, of all files of a folder; 0 where it could not be written.
        check: what comparing it found; None where that could not be done.
        doubt: why it could not be compared.
        report: the file beside it that says what was found; None where there is none.
        unreported: why the report could not be written.
        error: why the file could not be written; what was there before is kept.
        small: what small weights change; None where the file has float32 weights.
    """

    form: FileFormat
    path: Path
    nbytes: int
    check: ExportCheck | None = None
    doubt: StudioError | None = None
    report: Path | None = None
    unreported: StudioError | None = None
    error: StudioError | None = None
    small: SmallWeightsReport | None = None

    @property
    def format(self) -> str:
        """Name of the format."""
        return self.form.name

    @property
    def is_placed(self) -> bool:
        """Whether the file is in its place, as it is not where its answers were found to differ."""
        if self.error is not None:
            return False
        return self.check is None or self.check.is_alike or not self.check.is_checked

    @property
    def problem(self) -> StudioError | None:
        """Why there is no file known to be the same model, as an error; None where there is one.

        A format that cannot be read back is no problem.
        """
        if self.error is not None:
            return self.error
        who = str(self.path)
        if self.doubt is not None:
            return FormatError(f"written, but not verified: {self.doubt.message}", who=who)
        if self.check is None or self.check.is_same or not self.check.is_checked:
            return None
        hint = "" if self.is_placed else "nothing was written; what was there is kept"
        return FormatError(self.check.sentence, who=who, hint=hint)

    @property
    def sentence(self) -> str:
        """The file and what was found, in one line; of one with a problem, the problem."""
        if self.problem is not None:
            return str(self.problem)
        if self.check is None or not self.check.is_checked:
            return f"{self.path}: written, {self.check.sentence if self.check else 'not verified'}"
        kind = "samples" if self.check.part else "generated samples"
        return (
            f"{self.path}: reloaded by {self.check.read_by}, its answers on {self.rows} {kind} "
            "differ by at most "
            f"{self.difference:.1e}"
        )

    @property
    def difference(self) -> float:
        """Largest difference of its answers, relative to the network's where that is above 1."""
        return float("nan") if self.check is None else self.check.difference

    @property
    def rows(self) -> int:
        """Samples that were compared."""
        return 0 if self.check is None else self.check.samples

    def require_written(self) -> Self:
        """The same; raises the error where the file could not be written."""
        if self.error is not None:
            raise self.error
        return self


def inference_program(
    trained: Trained, small: Mapping[str, SmallWeight] | None = None
) -> tuple[Program, dict[str, Array]]:
    """The self-contained program of a trained network, and its weights by tensor name.

    It takes raw input, normalises it, and carries class names and a hash of the data; batch
    normalisations are folded into the layers before them.

    Args:
        trained: the network with its weights.
        small: kernels in a small form by tensor name; the program then widens them once, in its
            setup section, and its weights hold them and their scales.
    """
    stored = trained.weights()
    folding = Folding(lambda name: stored[name])
    program = trained.network.programs.compile("infer", 2, CPU, folding=folding)
    values = {**stored, **folding.values}
    weights = {t.name: values[t.name] for t in program.of_role(Role.PARAM, Role.STATE)}
    if not small:
        return program, weights
    return with_small_weights(program, weights, small, folding.scaled)


def exportable(trained: Trained, narrowed: Narrowed | None = None) -> Exportable:
    """A trained network as file formats write it.

    Args:
        trained: the network with its weights.
        narrowed: the same with small weights, where the file is to hold these.

    Raises:
        DataError: a weight is no finite number.
    """
    small: Mapping[str, SmallWeight] = {}
    if narrowed is not None:
        trained, small = narrowed.trained, narrowed.small
    task, stored = trained.task, trained.weights()
    for name, values in stored.items():
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise DataError(
                f"the weights of {quoted(name)} hold NaN or infinity, so nothing is exported",
                who=task.name,
                hint="the training diverged; export an earlier run",
            )
    return Exportable(
        task.name,
        task.graph,
        stored,
        stated_facts(task),
        trained.checkpoint,
        lambda: inference_program(trained, small),
        "float32" if narrowed is None else narrowed.form,
        small,
        _training(trained),
        task.open_graph,
    )


def _training(trained: Trained) -> ExportedTraining | None:
    """How a network is trained; None where no output has a loss."""
    task, checkpoint = trained.task, trained.checkpoint
    if not task.has_objective:
        return None
    optimizer = task.settings.optimizer
    if checkpoint is not None and checkpoint.learning_rate is not None:
        optimizer = optimizer.replace(learning_rate=checkpoint.learning_rate)
    return ExportedTraining(optimizer, task.objective())


def export(
    trained: Trained,
    files: Sequence[tuple[FileFormat, Path]],
    project: Project | None = None,
    progress: Progress | None = None,
    lengths: Mapping[str, object] | None = None,
    weights: WeightForm = "float32",
) -> list[Export]:
    """Write files, check them all in one new process, and put those that are alike in place.

    Beside each goes a report of what was found. A file that cannot be written keeps none of the
    others back.

    Args:
        trained: the network with its weights.
        files: format and place of each.
        project: the project it was trained from, with which files of weights are checked.
        progress: hears how far it is, from 0 to 1, and what is done; may raise to stop, which
            leaves everything as it was.
        lengths: numbers for the unknown lengths of inputs, by their names; those of the data
            unless given.
        weights: the form in which kernels are stored. Small ones are checked against the network
            with what they are widened to, and `Export.small` says what they change.

    Returns:
        For each file what was written and found, in the order asked for.

    Raises:
        DataError: a weight is no finite number, or too large for ``weights``.
        ParameterError: a format cannot hold such weights.
        ShapeError: ``lengths`` does not fit the network.
    """
    for form, _ in files:
        require_weights(form, weights)
    if lengths:
        with trained.for_lengths(lengths) as bound:
            return export(bound, files, None, progress, None, weights)
    tell = progress or unheard
    if weights == "float32":
        return _export(trained, files, project, tell)
    made: dict[int, Export] = {}
    for places in _alike(files):
        form = files[places[0]][0]
        tell(0.0, "measuring the small weights")
        with narrowed_network(trained, weights, form.narrow) as narrowed:
            report = measured(trained, narrowed)
            chosen = [files[place] for place in places]
            found = _export(narrowed.trained, chosen, project, tell, narrowed, report)
            made.update(zip(places, found, strict=True))
    return [made[place] for place in range(len(files))]


def _alike(files: Sequence[tuple[FileFormat, Path]]) -> list[list[int]]:
    """Places of files whose formats make kernels small in the same way."""
    groups: dict[object, list[int]] = {}
    for place, (form, _) in enumerate(files):
        groups.setdefault(type(form).narrow, []).append(place)
    return list(groups.values())


def _export(
    trained: Trained,
    files: Sequence[tuple[FileFormat, Path]],
    project: Project | None,
    tell: Progress,
    narrowed: Narrowed | None = None,
    report: SmallWeightsReport | None = None,
) -> list[Export]:
    """`export` with weights whose form is settled; ``trained`` has what they are widened to."""
    made: dict[int, Export] = {}
    written: dict[int, tuple[Staged, Written]] = {}
    with ExitStack() as stack:
        tell(0.05, "writing")
        model = exportable(trained, narrowed)
        for index, (form, path) in enumerate(files):
            try:
                staged = stack.push(form.staged(path))
                written[index] = staged, _write(form, model, staged, path)
            except StudioError as error:
                made[index] = Export(form, path, 0, error=error)
        if written:
            asked = [each for _, each in written.values()]
            found = check_files(trained, asked, exportable(trained, narrowed), project, tell)
            for index, one in zip(written, found, strict=True):
                form, path = files[index]
                made[index] = _place(form, path, written[index][0], one, report)
    return [made[index] for index in range(len(files))]


def export_file(
    trained: Trained,
    form: str,
    path: Path | str,
    project: Project | None = None,
    lengths: Mapping[str, object] | None = None,
    weights: str = "float32",
    opset: int | None = None,
) -> Export:
    """Write one file and check that it is the same model; see `export`.

    Args:
        trained: the network with its weights.
        form: one of `EXPORT_FORMATS`.
        path: file to write; its folder must exist.
        project: the project it was trained from.
        lengths: as for `export`.
        weights: ``float32``, ``float16`` or ``int8``: how kernels are stored.
        opset: operator set of an ONNX file, 13 to 21; 17 unless given.

    Raises:
        ParameterError: an unknown format, a path with the ending of another, or weights or an
            operator set that the format cannot have.
        FormatError: the file cannot be written, is another model, or could not be compared.
    """
    chosen = format_named(form)
    require_ending(Path(path), chosen)
    if opset is not None:
        chosen = chosen.with_opset(opset)
    form_of = weight_form(weights)
    (made,) = export(trained, [(chosen, Path(path))], project, lengths=lengths, weights=form_of)
    if made.problem is not None:
        raise made.problem
    return made


def export_all(
    trained: Trained,
    folder: Path | str,
    project: Project | None = None,
    weights: str = "float32",
) -> list[Export]:
    """Every format into a folder, made where missing, named after the project.

    Formats that cannot hold ``weights`` (``float32``, ``float16`` or ``int8``) are left out.

    Returns:
        For each format what was written and found; `Export.problem` says what is wrong with a file.

    Raises:
        DataError: a weight is no finite number, or the folder cannot be made.
    """
    into, kept = Path(folder), weight_form(weights)
    try:
        into.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot be made: {error.strerror}", who=str(into)) from error
    stem = "".join(c if c.isalnum() or c in "-_." else "_" for c in trained.task.name).strip(".")
    model = exportable(trained)
    forms = [
        form
        for form in file_formats()
        if form.can_write and kept in form.weight_forms and form.why_not(model) is None
    ]
    files = [(form, into / f"{stem or 'model'}{form.ending}") for form in forms]
    return export(trained, files, project, weights=kept)


def _write(form: FileFormat, model: Exportable, staged: Staged, path: Path) -> Written:
    try:
        form.save(model, staged.path)
        return Written(form, staged.path, file_hash(staged.path))
    except StudioError as error:
        # Users know the file by its own name.
        error.who = error.who.replace(str(staged.path), str(path))
        raise
    except OSError as error:
        raise write_error(error, path) from error


def _place(
    form: FileFormat,
    path: Path,
    staged: Staged,
    found: ExportCheck | FormatError,
    small: SmallWeightsReport | None,
) -> Export:
    check = found if isinstance(found, ExportCheck) else None
    doubt = found if isinstance(found, FormatError) else None
    made = Export(form, path, stored_bytes(staged.path), check, doubt, small=small)
    if not made.is_placed:
        return made
    try:
        staged.place()
    except FormatError as error:
        return replace(made, nbytes=0, error=error)
    forget_report(path)
    try:
        about = None if small is None else small.to_json()
        return replace(made, report=write_report(path, form.name, check, doubt, about))
    except FormatError as error:
        return replace(made, unreported=error)


def __getattr__(name: str) -> tuple[str, ...]:
    """``EXPORT_FORMATS``, the names of all formats; a module that is loaded later may add one."""
    if name == "EXPORT_FORMATS":
        return tuple(form.name for form in file_formats() if form.can_write)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
