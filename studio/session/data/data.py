"""The data of the document: opened in the background, described, and changed by undoable steps."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from studio.engine.core.errors import StudioError
from studio.engine.core.options import Plain
from studio.engine.core.signal import Signal
from studio.engine.train.data.dataset import Dataset
from studio.engine.train.project.data_settings import DataSettings
from studio.engine.train.project.sources import paths_of
from studio.engine.train.project.trusted_data import UntrustedDataError
from studio.session.core.tasks import CancelledError, TaskHandle, TaskList
from studio.session.data.cache import DatasetCache
from studio.session.data.cleaning import DataCleaning
from studio.session.data.columns import ColumnPeek
from studio.session.data.mapping import PartMapping, SourcePart, is_end_option
from studio.session.data.offers import DataOffer, input_offer, mapping_offer, named_input_offer
from studio.session.data.opening import (
    Attachment,
    Wanted,
    columns_of,
    described,
    fitting,
    look_at,
    wanted_of,
)
from studio.session.data.peeking import has_parts, parts_of_source
from studio.session.data.problems import Problems, find_problems
from studio.session.data.recognition import moved_reference
from studio.session.data.sources import (
    SourceForm,
    check_source,
    form_of,
    reference_of,
    with_reference,
)
from studio.session.data.summary import DataSummary
from studio.session.document.document import Change, Document
from studio.session.document.edits.sections import data_of, set_data
from studio.session.document.report import DataFacts, InputFacts, TargetFacts, array_keys

Status: TypeAlias = Literal["none", "opening", "ready", "failed"]

Peeked: TypeAlias = tuple[tuple[ColumnPeek, ...], tuple[SourcePart, ...]]

_LOG = logging.getLogger(__name__)
_OWN_NORMALIZATION = {"digits": "unit", "iris": "standard"}


class DataModel:
    """Follows the data section of the document that is open.

    Attributes:
        read_again: the user had files read again; emitted after success and failure.
        trust_wanted: the project names data outside its folder, and the user has to agree first.

    Args:
        cache: keeps data sets open; compiles share it.
    """

    def __init__(
        self,
        document: Callable[[], Document],
        tasks: TaskList,
        cache: DatasetCache | None = None,
    ) -> None:
        self.changed: Signal[[]] = Signal()
        self.read_again: Signal[[]] = Signal()
        self.trust_wanted: Signal[[tuple[Path, ...]]] = Signal()
        self.cache = cache or DatasetCache()
        self.status: Status = "none"
        self.summary: DataSummary | None = None
        self.error: StudioError | None = None
        self.problems = Problems(())
        self.columns: tuple[ColumnPeek, ...] = ()
        self.parts: tuple[SourcePart, ...] = ()
        self.mapping = PartMapping(self, document)
        self.cleaning = DataCleaning(self)
        self._document = document
        self._tasks = tasks
        self._wanted: Wanted | None = None
        self._task: TaskHandle | None = None
        self._reads_again = False
        self._asked_about: tuple[Path, ...] = ()
        self._followed: Document | None = None
        tasks.changed.connect(self._tasks_changed)

    # -- what others ask ------------------------------------------------------------------------

    @property
    def dataset(self) -> Dataset | None:
        """The data set of the document, once it is open."""
        return None if self.summary is None else self.summary.dataset

    @property
    def settings(self) -> DataSettings | None:
        """The data section as the engine reads it."""
        return data_of(self._document().state)

    @property
    def data(self) -> dict[str, Plain]:
        """The data section as plain data; empty without."""
        found = self._document().state.data
        return {} if found is None else found.plain()

    @property
    def form(self) -> SourceForm | None:
        """The kind of source the document names."""
        return form_of(self._document().state.data)

    @property
    def folder(self) -> Path:
        """The folder relative paths start from."""
        return self._document().folder

    @property
    def facts(self) -> DataFacts | None:
        """What checks of the network need to know."""
        dataset = self.dataset
        if dataset is None:
            return None
        return _facts(dataset, {} if self._wanted is None else self._wanted.data.reference)

    @property
    def offer(self) -> DataOffer | None:
        """How network and data can be made to fit each other, where they do not."""
        state = self._document().state
        offer = mapping_offer(state, reference_of(self.data), self.parts) if self.data else None
        if offer is not None or self.dataset is None:
            return offer
        if self.dataset.inputs:
            shapes = {each.name: tuple(each.values.shape[1:]) for each in self.dataset.inputs}
            return named_input_offer(state, shapes)
        return input_offer(state, self.dataset.sample_shape)

    # -- following the document -----------------------------------------------------------------

    def follow(self, document: Document) -> None:
        """Look at another document from now on."""
        before = self._followed
        self._forget_task()
        if before is not None:
            before.changed.disconnect(self._document_changed)
            before.saved.disconnect(self._saved)
        self._followed = document
        document.changed.connect(self._document_changed)
        document.saved.connect(self._saved)
        self._wanted, self._reads_again, self._asked_about = None, False, ()
        self.status, self.summary, self.error = "none", None, None
        self.problems, self.columns, self.parts = Problems(()), (), ()
        self._refresh()
        if self._wanted is None:
            self.changed.emit()

    def reload(self) -> None:
        """Read the data again, because files were changed."""
        self.cache.forget()
        self._wanted = None
        self._reads_again = True
        self._refresh()

    def _document_changed(self, change: Change) -> None:
        if change.sections & {"data", "training"}:
            self._refresh()
        if "training" in change.sections:
            # What is drawn for augmentation follows from the training's seed.
            self.changed.emit()
        elif self.summary is not None and not change.only_places:
            # Whether the input fits the data may have changed.
            self.changed.emit()

    def _refresh(self) -> None:
        wanted = wanted_of(self._document())
        if wanted == self._wanted:
            return
        self._forget_task()
        before, self._wanted = self._wanted, wanted
        if wanted is None:
            self.columns, self.parts = (), ()
            self._show("none", None)
            return
        if not self._may_read(wanted):
            return
        if before is None or before.data.reference != wanted.data.reference:
            self._peek(wanted)
        self.status, self.problems = "opening", Problems(())
        self.changed.emit()
        self._task = self._tasks.start(
            f"Open {wanted.title}",
            lambda handle: described(wanted, self.cache, handle),
            lambda made: self._show("ready", made),
            lambda error: self._refused(wanted, error),
        )

    # -- data outside the project's folder ------------------------------------------------------

    @property
    def is_untrusted(self) -> bool:
        """Whether it was not read because it lies outside the project's folder."""
        return isinstance(self.error, UntrustedDataError)

    def trust(self) -> None:
        """The user agrees to have it read, now and later."""
        self._trust(self._wanted)
        if self.is_untrusted:
            self.reload()

    def _may_read(self, wanted: Wanted) -> bool:
        """Whether the user has agreed to read it; asks where not."""
        trusted = self.cache.trusted
        if trusted is None:
            return True
        if self._document().path is None:
            # What has no file yet was made here.
            trusted.trust(wanted.data.reference, wanted.folder, remember=False)
        try:
            trusted.check(wanted.data.reference, wanted.folder)
        except UntrustedDataError as error:
            self.columns, self.parts = (), ()
            self._show("failed", None, error)
            if error.paths != self._asked_about:
                # Once for a document: the pane goes on saying why nothing was read.
                self._asked_about = error.paths
                self.trust_wanted.emit(error.paths)
            return False
        return True

    def _trust(self, wanted: Wanted | None) -> None:
        trusted = self.cache.trusted
        if trusted is None or wanted is None:
            return
        try:
            has_file = self._document().path is not None
            trusted.trust(wanted.data.reference, wanted.folder, remember=has_file)
        except StudioError as error:
            _LOG.warning("what may be read is not remembered: %s", error)

    def _saved(self) -> None:
        """Data the user could read before may be read in the new folder too."""
        if self._wanted is not None and not self.is_untrusted:
            self._trust(wanted_of(self._document()))
        self._refresh()

    def _forget_task(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _tasks_changed(self) -> None:
        """Notice that the user stopped the reading."""
        if self._task is None or not self._task.cancelled:
            return
        self._task = None
        if self.status == "opening":
            self.status, self.summary = "failed", None
            self.error = CancelledError("reading was cancelled", who="data", hint="reload the data")
            self._document().set_data_facts(None)
        self.changed.emit()

    def _peek(self, wanted: Wanted) -> None:
        """Look at the columns of a table, or the parts of another source, to choose from."""
        if not (wanted.is_table or has_parts(wanted.data.reference)):
            self.columns, self.parts = (), ()
            return

        def show(found: Peeked) -> None:
            if self._wanted is not None and self._wanted.data.reference == wanted.data.reference:
                self.columns, self.parts = found
                self.changed.emit()

        def look() -> Peeked:
            parts = parts_of_source(wanted.data.reference, wanted.folder)
            return columns_of(wanted) if wanted.is_table else (), parts

        # What keeps the file from being read at all is said by the reading itself.
        title = "Read the columns" if wanted.is_table else "Read the names"
        self._tasks.start(
            title, lambda _: look(), show, lambda _: show(((), ())), quiet=True
        )  # fmt: skip

    def _show(
        self, status: Status, summary: DataSummary | None, error: StudioError | None = None
    ) -> None:
        self._task = None
        self.status, self.summary, self.error = status, summary, error
        self.problems = Problems(())
        self._document().set_data_facts(self.facts)
        self.changed.emit()
        self._tell_read_again()

    def _refused(self, wanted: Wanted, error: StudioError) -> None:
        """Say the first thing that is wrong, and look for the others."""
        self._task = None
        self.status, self.summary, self.error = "failed", None, error
        self._document().set_data_facts(None)
        self.changed.emit()
        self._tell_read_again()
        self._task = self._tasks.start(
            f"Scan {wanted.title}",
            lambda handle: find_problems(
                wanted.data.reference, wanted.folder, error, handle.progress
            ),
            self._problems_found,
        )

    def _tell_read_again(self) -> None:
        """Report that files were read again, so that results of the old ones are dropped."""
        if self._reads_again:
            self._reads_again = False
            self.read_again.emit()

    def _problems_found(self, problems: Problems) -> None:
        self._task = None
        self.problems = problems
        self.changed.emit()

    # -- changing it ----------------------------------------------------------------------------

    def choose(self, source: str) -> None:
        """Use a set that comes with the studio or is computed; one undo step."""
        form = check_source(source)
        data = with_reference(self.data or None, {"source": source})
        data.pop("normalization", None)
        made = _OWN_NORMALIZATION.get(source, "none")
        if made != "none":
            data["normalization"] = made
        self._apply(f"Use {form.title.lower()}", fitting(data, is_pictures=source == "digits"))

    def attach(
        self, reference: Mapping[str, Plain], text: str = "Attach data", merge_key: str = ""
    ) -> None:
        """Use another source with its options; one undo step."""
        self._apply(text, with_reference(self.data or None, reference), merge_key)

    def attach_path(
        self,
        path: Path,
        done: Callable[[Attachment], object] | None = None,
        failed: Callable[[StudioError], object] | None = None,
        beside: Sequence[Path] = (),
    ) -> None:
        """Use a file or folder of the user's: recognised and read first, then one undo step.

        Where it is recognised but cannot be read, it is attached all the same, so that what is
        wrong with it is listed. Where there is nothing in it, there would be nothing to mend.

        Args:
            done: told on the window's thread what it was taken for, and whether it was read.
            failed: told why it was not recognised; without, the list of tasks tells.
            beside: what was chosen together with it: the labels of samples.
        """
        base, ends = self._base(), self.mapping.ends

        def attached(made: Attachment) -> None:
            self._apply(f"Attach {path.name}", made.section(self.data))
            if done is not None:
                done(made)

        self._tasks.start(
            f"Attach {path.name}",
            lambda handle: look_at((path, *beside), base, self.cache, handle, ends),
            attached,
            failed,
        )

    def _base(self) -> Path | None:
        document = self._document()
        return None if document.path is None else document.folder

    def detach(self) -> None:
        """Use no data; one undo step."""
        document = self._document()
        document.apply("Remove data", set_data(document.state, None))

    def set_field(self, name: str, value: Plain, merge_key: str = "") -> None:
        """Change normalisation, split or augmentation; one undo step.

        ParameterError or DataError for a value that is not allowed; nothing changes then.
        """
        data = self.data
        data[name] = value
        self._apply(f"Change {name.replace('_', ' ')}", data, merge_key)

    def set_option(self, name: str, value: object, merge_key: str = "") -> None:
        """Change an option of the source, or of an input or output; one undo step."""
        form = self.form
        if is_end_option(name):
            self.mapping.set_option(name, value, merge_key)
        if form is None or is_end_option(name):
            return
        made = form.with_value(reference_of(self.data), name, value)
        self._apply(f"Change {name.replace('_', ' ')}", with_reference(self.data, made), merge_key)

    def set_columns(self, label: Plain, drop: Sequence[Plain]) -> None:
        """Choose the label column (None for the last) and those left out; one undo step."""
        reference = reference_of(self.data)
        for name, value in (("label", label), ("drop", list(drop) or None)):
            reference.pop(name, None)
            if value is not None:
                reference[name] = value
        reference = self.cleaning.fitting(reference)
        self._apply("Choose columns", with_reference(self.data, reference))

    def take_offer(self) -> None:
        """Make network and data fit each other; one undo step."""
        offer, document = self.offer, self._document()
        if offer is not None:
            document.apply(offer.text, offer.apply(document.state))

    def before_save(self, path: Path) -> None:
        """Let relative paths mean the same files when the project is saved into another folder."""
        document = self._document()
        if document.state.data is None or path.resolve().parent == document.folder:
            return
        reference = reference_of(self.data)
        moved = moved_reference(reference, document.folder, path.resolve().parent)
        if moved != reference:
            self._apply("Keep data available", with_reference(self.data, moved))

    def _apply(self, text: str, data: Mapping[str, Plain], merge_key: str = "") -> None:
        document = self._document()
        state = set_data(document.state, data)
        settings, before = data_of(state), self._wanted
        same = before is not None and settings is not None and set(
            paths_of(settings.reference, Path())
        ) == set(paths_of(before.data.reference, Path()))  # fmt: skip
        if settings is not None and not (same and self.is_untrusted):
            # What the user chooses here, the user agrees to.
            self._trust(Wanted(settings, ("none", 0.0), document.folder))
        document.apply(text, state, merge_key)


def _facts(dataset: Dataset, reference: Mapping[str, object]) -> DataFacts:
    """What checks need to know of a data set that a reference names."""
    targets = 1 if dataset.is_classification else int(dataset.y.shape[1])
    inputs, ends = array_keys(reference, "inputs"), array_keys(reference, "targets")
    return DataFacts(
        dataset.sample_shape,
        dataset.kind,
        len(dataset.class_names),
        targets,
        tuple(
            InputFacts(each.name, tuple(each.values.shape[1:]), inputs.get(each.name, ""))
            for each in dataset.inputs
        ),
        tuple(
            TargetFacts(
                each.name, tuple(each.y.shape[1:]), len(each.class_names), each.class_names,
                ends.get(each.name, ""),
            )
            for each in dataset.targets
        ),
    )  # fmt: skip
