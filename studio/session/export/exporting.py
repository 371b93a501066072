"""Takes trained networks out of the studio: what can be written, the last choice, the check."""

from __future__ import annotations

import json
import logging
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypeAlias, TypeVar

from studio.engine.core.errors import DataError, FormatError, ParameterError, StudioError
from studio.engine.core.signal import Signal
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.safe_json import load_json
from studio.engine.interop.file_format import (
    Exportable,
    FileFormat,
    file_formats,
    require_ending,
    require_weights,
)
from studio.engine.interop.small_weights import WEIGHT_FORMS, WeightForm
from studio.engine.train.devices import open_backend
from studio.engine.train.export.check.check import ExportCheck
from studio.engine.train.export.exporting import Export, export, exportable
from studio.engine.train.export.small_weights import narrowed_network
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.project import Project
from studio.engine.train.project.sources import refuse_source
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder
from studio.session.core.run_notes import read_notes, title_of
from studio.session.core.tasks import TaskHandle, TaskList
from studio.session.data.cache import DatasetCache
from studio.session.document.document import Document
from studio.session.document.edits.sections import data_of
from studio.session.document.state import DocumentState
from studio.session.export.differences import changed_since
from studio.session.export.preview import Preview, binary_preview, preview_file, text_preview

Picture: TypeAlias = Callable[[], bytes]
"""Draws the graph as the content of a file; called on the window's thread."""

T = TypeVar("T")

_LOG = logging.getLogger(__name__)
_LIMITS = Limits(file_bytes=MIB, json_bytes=MIB, json_depth=4, json_values=1000)
_REMEMBERED = 50


@dataclass(frozen=True)
class PictureForm:
    """A picture of the graph as a file; its attributes are those of a `FileFormat`.

    Attributes:
        name: ``svg`` or ``png``.
        title: on the screen.
        ending: of file names, with its dot.
        about: one sentence.
        preview: shows the beginning of the content.
    """

    name: str
    title: str
    ending: str
    about: str
    preview: Callable[[bytes], Preview]


class _Last(NamedTuple):
    """What was exported last of a document: name of the form, the file, and how it is written.

    The operator set is 0 where the form has none, or the usual one.
    """

    form: str
    path: str
    weights: WeightForm = "float32"
    opset: int = 0

    def plain(self) -> list[str | int]:
        """As it is remembered; what is usual is left out, as earlier versions have it."""
        usual = 2 if self.weights == "float32" else 3
        return [*(self if self.opset else self[:usual])]


ExportForm: TypeAlias = FileFormat | PictureForm
"""One thing that can be written."""


def _png_size(content: bytes) -> Iterator[str]:
    width, height = struct.unpack_from(">II", content, 16)
    yield f"PNG image, {width} by {height} pixels"


PICTURES: tuple[PictureForm, ...] = (
    PictureForm("svg", "Image of the graph (SVG)", ".svg",
                "The graph as drawn on the canvas, scalable.", text_preview),
    PictureForm("png", "Image of the graph (PNG)", ".png",
                "The graph as drawn on the canvas, in pixels.",
                lambda content: binary_preview(content, _png_size)),
)  # fmt: skip


def export_forms() -> tuple[ExportForm, ...]:
    """All that can be written, in the order of the list."""
    return (*(each for each in file_formats() if each.can_write), *PICTURES)


def form_named(name: str) -> ExportForm:
    """The form of that name; DataError for another."""
    for form in export_forms():
        if form.name == name:
            return form
    raise DataError(f"unknown export format {name[:40]!r}", who="export")


def search_words() -> tuple[str, ...]:
    """Words under which exporting is found: names, endings and what formats add."""
    forms = [form for form in export_forms() if not isinstance(form, PictureForm)]
    words = (word for form in forms for word in (form.name, *form.words))
    return tuple(dict.fromkeys([*words, "picture", *(each.name for each in PICTURES)]))


@dataclass(frozen=True)
class ExportResult:
    """What came of one export.

    Attributes:
        form: what it is.
        path: where it belongs.
        nbytes: its length.
        made: what was written and found; None for a picture.
        weights: which weights it was made with, in a sentence; empty for a picture.
    """

    form: ExportForm
    path: Path
    nbytes: int
    made: Export | None = None
    weights: str = ""

    @property
    def check(self) -> ExportCheck | None:
        """What comparing it found; None for a picture, or where that could not be done."""
        return None if self.made is None else self.made.check

    @property
    def small_form(self) -> WeightForm:
        """The form in which its kernels are stored."""
        small = None if self.made is None else self.made.small
        return "float32" if small is None else small.form

    @property
    def is_placed(self) -> bool:
        """Whether the file is in its place."""
        return self.made is None or self.made.is_placed

    @property
    def is_proven(self) -> bool:
        """Whether nothing speaks against the file."""
        return self.made is None or (self.check is not None and self.check.is_same)


class ExportModel:
    """What can be exported of the document that is open, and doing it in the background.

    Args:
        run_of: the recorded training whose weights are meant, or None.
        cache: data sets that are open already.
        memory: file that remembers the last choice of each document; None keeps it in memory.
    """

    def __init__(
        self,
        document: Callable[[], Document],
        tasks: TaskList,
        run_of: Callable[[], RunFolder | None],
        cache: DatasetCache | None = None,
        memory: Path | None = None,
    ) -> None:
        self.changed: Signal[[]] = Signal()
        self.finished: Signal[[ExportResult]] = Signal()
        self.pictures: dict[str, Picture] = {}
        self.result: ExportResult | None = None
        self.task: TaskHandle | None = None
        self._compared: tuple[Path, DocumentState, tuple[str, ...]] | None = None
        self._refused: tuple[Path, Mapping[str, str]] | None = None
        self._document = document
        self._tasks = tasks
        self._run_of = run_of
        self._cache = cache or DatasetCache()
        self._memory = memory
        self._last: dict[str, _Last] = {} if memory is None else _read(memory)
        tasks.changed.connect(self._tasks_changed)

    # -- what there is --------------------------------------------------------------------------

    def why_not(self, form: ExportForm) -> str:
        """Why a form cannot be written now, in a few words; empty when it can.

        What a format cannot hold of the network is known once a preview was made.
        """
        if isinstance(form, PictureForm):
            if form.name not in self.pictures:
                return "no canvas is open"
            return "" if self._document().state.nodes else "there is nothing on the canvas"
        run = self._run_of()
        if run is None:
            return "train the network first"
        if not run.has_result:
            return "the training has no checkpoint yet"
        known = self._refused
        return known[1].get(form.name, "") if known is not None and known[0] == run.path else ""

    def differences(self) -> tuple[str, ...]:
        """What was changed since the training whose weights are meant; empty when nothing was."""
        run, state = self._run_of(), self._document().state
        if run is None:
            return ()
        if self._compared is None or self._compared[:2] != (run.path, state):
            try:
                found = changed_since(run.project(), self._document().project())
            except StudioError as error:
                found = (f"the network cannot run now: {error.message}",)
            self._compared = (run.path, state, found)
        return self._compared[2]

    @property
    def last(self) -> tuple[ExportForm, Path] | None:
        """What was exported last of this document, and where to."""
        found = self._last.get(self._key())
        if found is None:
            return None
        with suppress(DataError, ParameterError):
            form = form_named(found.form)
            if found.opset and not isinstance(form, PictureForm):
                form = form.with_opset(found.opset)
            return form, Path(found.path)
        return None

    @property
    def last_weights(self) -> WeightForm:
        """The form in which kernels of this document were stored last."""
        found = self._last.get(self._key())
        return "float32" if found is None else found.weights

    def suggested_path(self, form: ExportForm) -> Path:
        """Where a form goes unless told otherwise: where the last export went, or the project."""
        document, last = self._document(), self.last
        folder = last[1].parent if last is not None else document.folder
        if last is not None and last[0].name == form.name:
            return last[1]
        letters = (c if c.isalnum() or c in "-_." else "_" for c in document.title)
        return folder / f"{''.join(letters).strip('.') or 'model'}{form.ending}"

    def follow(self) -> None:
        """Another document is open: what was written of the last is not shown as its.

        An export under way is finished, and remembered for the document it is of.
        """
        self.result, self._compared = None, None
        self.changed.emit()

    # -- doing it -------------------------------------------------------------------------------

    def preview(
        self,
        form: ExportForm,
        done: Callable[[Preview, bytes], object],
        failed: Callable[[StudioError], object],
        weights: WeightForm = "float32",
    ) -> TaskHandle | None:
        """Make the file aside and show its beginning; ``done`` also gets a picture's content."""
        if isinstance(form, PictureForm):
            try:
                content = self.pictures[form.name]()
                done(form.preview(content), content)
            except StudioError as error:
                failed(error)
            return None
        run = self._need_run()
        refused: dict[str, str] = {}

        def work(handle: TaskHandle) -> Preview:
            with TemporaryDirectory(prefix="glassbox-preview-") as name:
                path = Path(name) / f"preview{form.ending}"

                def write(trained: Trained, _: Project) -> str:
                    model = exportable(trained)
                    refused.update(refusals(model))
                    if weights == "float32":
                        form.write(model, path)
                    else:
                        with narrowed_network(trained, weights, form.narrow) as narrowed:
                            form.write(exportable(trained, narrowed), path)
                    return weights_text(form, run, trained)

                whose = self._with_trained(run, write)
                handle.check()
                return replace(preview_file(path, form), weights=whose)

        def know() -> None:
            before = {} if self._refused is None else self._refused[1]
            self._refused = run.path, refused
            if refused != before:
                self.changed.emit()

        def shown(made: Preview) -> None:
            know()
            done(made, b"")

        def give_up(error: StudioError) -> None:
            know()
            failed(error)

        return self._tasks.start(f"Preview {form.in_a_sentence}", work, shown, give_up, quiet=True)

    def preview_written(
        self,
        result: ExportResult,
        done: Callable[[Preview, bytes], object],
        failed: Callable[[StudioError], object],
    ) -> TaskHandle:
        """Show the beginning of a file that was exported: what it holds, not what one would."""
        form = result.form
        if isinstance(form, PictureForm):
            raise DataError("images have no text preview", who="export")
        return self._tasks.start(
            f"Read {result.path.name}",
            lambda _: replace(preview_file(result.path, form), weights=result.weights),
            lambda made: done(made, b""),
            failed,
            quiet=True,
        )

    def export(
        self,
        form: ExportForm,
        path: Path,
        failed: Callable[[StudioError], object] | None = None,
        weights: WeightForm = "float32",
    ) -> TaskHandle | None:
        """Write a file and check that it is the same model; `result` has the finding.

        Args:
            form: what to write.
            path: where to.
            failed: hears why nothing was written.
            weights: the form in which kernels are stored.

        Raises:
            DataError: nothing has been trained, or the file is the project's own or its data's.
            ParameterError: the file's name has the ending of another form, or the form cannot hold
                such weights.
            FormatError: a picture cannot be written; other forms tell ``failed``.
        """
        require_ending(path, form, PICTURES)
        self._check_place(path)
        if isinstance(form, PictureForm):
            content = self.pictures[form.name]()
            write_atomic(path, content)
            self._done(ExportResult(form, path, len(content)), self._key(), is_shown=True)
            return None
        require_weights(form, weights)
        run, key, document = self._need_run(), self._key(), self._document()

        def give_up(error: StudioError) -> None:
            self.task = None
            self.changed.emit()
            if failed is not None:
                failed(error)

        self.result = None
        self.task = self._tasks.start(
            f"Export {path.name}",
            lambda handle: self._write(form, path, run, weights, handle),
            lambda result: self._done(result, key, is_shown=self._document() is document),
            give_up,
            if_left="answer",
        )
        self.changed.emit()
        return self.task

    def again(self, failed: Callable[[StudioError], object] | None = None) -> None:
        """Export what was exported last, to the same place; DataError when nothing was."""
        last = self.last
        if last is None:
            raise DataError("nothing was exported yet", who="export")
        self.export(*last, failed, self.last_weights)

    def _write(
        self,
        form: FileFormat,
        path: Path,
        run: RunFolder,
        weights: WeightForm,
        handle: TaskHandle,
    ) -> ExportResult:
        def made(trained: Trained, project: Project) -> ExportResult:
            files = [(form, path)]
            (done,) = export(trained, files, project, handle.progress, weights=weights)
            done.require_written()
            return ExportResult(form, path, done.nbytes, done, weights_text(form, run, trained))

        handle.progress(0.0, "loading the weights")
        return self._with_trained(run, made)

    def _with_trained(self, run: RunFolder, work: Callable[[Trained, Project], T]) -> T:
        project = run.project()
        dataset = None
        if project.data is not None:
            dataset = self._cache.open(project.data, project.folder)
        task = Task.of_project(project, dataset)
        with (
            open_backend("cpu", compiled=False) as opened,
            Trained.of_run(run, opened.backend, task) as trained,
        ):
            return work(trained, project)

    def _done(self, result: ExportResult, key: str, *, is_shown: bool) -> None:
        """An export of the document with that key is over; another may be open by now."""
        self.task = None
        if is_shown:
            self.result = result
        self._last.pop(key, None)
        opset = _unusual_opset(result.form)
        self._last[key] = _Last(result.form.name, str(result.path), result.small_form, opset)
        self._remember()
        self.changed.emit()
        self.finished.emit(result)

    def _tasks_changed(self) -> None:
        if self.task is not None and self.task.cancelled:
            self.task = None
            self.changed.emit()

    def _check_place(self, path: Path) -> None:
        """DataError where the export would take the place of what it is made of."""
        document = self._document()
        data = data_of(document.state)
        reference = None if data is None else data.reference
        refuse_source(path, document.path, reference, document.folder)

    def _need_run(self) -> RunFolder:
        run = self._run_of()
        if run is None or not run.has_result:
            raise DataError("there are no trained weights to export", who="export",
                            hint="train the network first")  # fmt: skip
        return run

    def _key(self) -> str:
        document = self._document()
        return document.uuid if document.path is None else str(document.path.resolve())

    def _remember(self) -> None:
        if self._memory is None:
            return
        kept = {key: each.plain() for key, each in list(self._last.items())[-_REMEMBERED:]}
        try:
            self._memory.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(self._memory, json.dumps(kept, indent=2).encode("utf-8"))
        except (OSError, FormatError) as error:
            _LOG.warning("the last export is not remembered: %s", error)


def refusals(model: Exportable) -> dict[str, str]:
    """Why formats cannot hold a network, by the format's name, with what can be done instead."""
    found = {}
    for form in file_formats():
        error = form.why_not(model) if form.can_write else None
        if error is not None:
            who = f" ({error.who})" if error.who not in ("", model.name) else ""
            hint = f"; {error.hint}" if error.hint else ""
            found[form.name] = f"{error.message}{who}{hint}"
    return found


def weights_text(form: FileFormat, run: RunFolder, trained: Trained) -> str:
    """Which weights a file is made with: the run, how long they were trained, the checkpoint."""
    origin = trained.origin
    title = title_of(run.name, read_notes(run))
    if origin is None:
        return f"Weights of the run {title}"
    what = "Weights" if form.has_weights else "Without weights; the network"
    told = (*origin.notes, "they are in this run, not in the project file")
    shown = told if origin.imported and form.has_weights else origin.notes
    notes = ". ".join(("", *(f"{note[:1].upper()}{note[1:]}" for note in shown)))
    end = "." if shown else ""
    return f"{what} of the run {title}: {origin.trained} ({origin.file}){notes}{end}"


def _read(path: Path) -> dict[str, _Last]:
    """The last exports as remembered; none where the file is missing or damaged."""
    if not path.is_file():
        return {}
    try:
        found = load_json(path, _LIMITS)
    except FormatError as error:
        _LOG.warning("the last exports are forgotten: %s", error)
        return {}
    return {
        str(key): _Last(str(value[0]), str(value[1]), _form_of(value[2:]), _opset_of(value[3:]))
        for key, value in (found.items() if isinstance(found, Mapping) else ())
        if isinstance(value, list) and len(value) in (2, 3, 4)
    }


def _unusual_opset(form: ExportForm) -> int:
    """The operator set a file was written in; 0 where it is the usual one, or there is none."""
    if isinstance(form, PictureForm):
        return 0
    usual = form_named(form.name)
    return form.opset if isinstance(usual, FileFormat) and form.opset != usual.opset else 0


def _opset_of(stated: Sequence[object]) -> int:
    return stated[0] if stated and type(stated[0]) is int else 0


def _form_of(stated: Sequence[object]) -> WeightForm:
    return next((form for form in WEIGHT_FORMS if form in stated), "float32")
