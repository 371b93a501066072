"""Compiles the document again and again in the background, so that a program is always shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from studio.engine.compiler.target import CPU, Target
from studio.engine.core.errors import GraphError, StudioError
from studio.engine.core.signal import Signal
from studio.engine.core.tensor import TensorMap
from studio.engine.isa.program import Program
from studio.engine.runtime.backend import Executable
from studio.session.compile.compilation_result import (
    Compiled,
    CompiledProgram,
    Compiler,
    OpenData,
    ProgramMode,
    open_data,
)
from studio.session.compile.provenance import Provenance
from studio.session.core.scheduling import Debounce, Scheduler
from studio.session.core.tasks import TaskHandle, TaskList
from studio.session.listing.kernels import Kernels, kernels_of, planned_kernels

if TYPE_CHECKING:
    from studio.engine.gl.kernels.specs import DeviceCaps
    from studio.session.document.change import Change
    from studio.session.document.document import Document
    from studio.session.document.state import CanvasNode

COMPILE_SECONDS = 0.2
"""How long the document must have been left alone before it is compiled."""

PROGRAM_SECTIONS = frozenset({"name", "graph_name", "outputs", "data", "training"})
"""Parts of the document besides its layers that programs depend on."""

NO_PROGRAM = Provenance(Program("", "train", TensorMap(), {}))
"""Stands for the provenance while there is no program."""


class Stop(NamedTuple):
    """Why there is no newer program.

    Attributes:
        error: what is wrong, in one sentence.
        node: id of the layer it is about, empty where that is not known.
        stage: how far the compiler had come; empty where it was not called.
    """

    error: StudioError
    node: str = ""
    stage: str = ""


class Compilation:
    """The programs of the document, recompiled a moment after each edit that affects them.

    A compile that fails leaves the result before it, which is then stale; one that an edit has
    overtaken is dropped.

    Args:
        target: the kind of the device in use.
        dataset: gives the data set of a project's data section; may keep it open.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        tasks: TaskList,
        target: Callable[[], Target] = lambda: CPU,
        dataset: OpenData = open_data,
    ) -> None:
        self.changed: Signal[[]] = Signal()
        self.stale_changed: Signal[[]] = Signal()
        self.kernels_refused: Signal[[StudioError]] = Signal()
        self.result: Compiled | None = None
        self.stop: Stop | None = None
        self._tasks = tasks
        self._target = target
        self._compiler = Compiler(dataset)
        self._wait = Debounce(scheduler, COMPILE_SECONDS, self._start)
        self._document: Document | None = None
        self._running: TaskHandle | None = None
        self._planning: TaskHandle | None = None
        self._unplanned: Program | None = None
        self._edits = 0
        self.mode: ProgramMode = "train"
        self.level: int | None = None
        """How much is optimised; None for what the project says."""
        self._kept: frozenset[str] = frozenset()
        self._executables: tuple[Executable, ...] = ()

    # -- what there is --------------------------------------------------------------------------

    @property
    def error(self) -> StudioError | None:
        """What keeps the document from being compiled, or its data from being opened."""
        if self.stop is not None:
            return self.stop.error
        return None if self.result is None else self.result.data_error

    @property
    def stale_edits(self) -> int:
        """Edits that matter since the document the result was made of."""
        return self._edits

    @property
    def is_stale(self) -> bool:
        """Whether the document has gone on since, or could not be compiled."""
        return self.result is not None and (self._edits > 0 or self.stop is not None)

    @property
    def is_compiling(self) -> bool:
        """Whether a newer result is on its way."""
        return self._running is not None or self._wait.pending

    @property
    def has_layers(self) -> bool:
        """Whether the document has anything that could be compiled."""
        return self._document is not None and any(self._document.state.layers())

    @property
    def shown(self) -> CompiledProgram | None:
        """The program the views show."""
        if self.result is None:
            return None
        return self.result.programs.get(self.mode) or self.result.main

    @property
    def provenance(self) -> Provenance:
        """Where everything in the program shown came from; of no program while there is none."""
        shown = self.shown
        return NO_PROGRAM if shown is None else shown.provenance

    @property
    def provenances(self) -> tuple[Provenance, ...]:
        """The provenance of every program there is, shown or not."""
        programs = () if self.result is None else self.result.programs.values()
        return tuple(program.provenance for program in programs)

    # -- what is wanted -------------------------------------------------------------------------

    def show(self, mode: ProgramMode) -> None:
        """Show the training program or the one for inference."""
        if mode != self.mode:
            self.mode = mode
            self.changed.emit()

    def set_level(self, level: int | None) -> None:
        """Compile with another level of optimisation than the project's, or with its own."""
        if level != self.level:
            self.level = level
            self.compile_now()

    def retarget(self) -> None:
        """Compile again where the device in use is another than that of the programs shown."""
        if self.result is not None and self.result.main.target != self._target():
            self.compile_now()

    def keep(self, names: Iterable[str]) -> None:
        """Tensors that stay stored, because they are being looked at: fusing leaves them."""
        kept = frozenset(names)
        if kept != self._kept:
            self._kept = kept
            self.compile_now()

    def follow(self, document: Document | None) -> None:
        """Compile this document from now on, at once for the first time."""
        if self._document is not None:
            self._document.changed.disconnect(self._document_changed)
            self._document.report_changed.disconnect(self._report_changed)
        self._forget_running()
        if self._planning is not None:
            self._planning.cancel()
            self._planning = None
        self._wait.cancel()
        self._document = document
        self.result, self.stop, self._edits = None, None, 0
        self._kept, self.level = frozenset(), None
        if document is not None:
            document.changed.connect(self._document_changed)
            document.report_changed.connect(self._report_changed)
            self._begin(at_once=True)
        self.changed.emit()
        self.stale_changed.emit()

    def compile_now(self) -> None:
        """Compile without waiting: the device, the data or a wish has changed."""
        if self._document is not None and self._document.report.is_valid:
            self._start()

    def use_executables(self, executables: Iterable[Executable]) -> None:
        """What a device runs at the moment; its kernels are shown where it runs the program shown.

        None of them is kept beyond the next call.
        """
        self._executables = tuple(executables)
        if self._note_kernels():
            self.changed.emit()

    def plan_kernels(self) -> None:
        """Find out what the lines of the program shown run as, where that is not known yet.

        In the background; what a device has recorded later takes the place of what was planned.
        ``kernels_refused`` tells why it cannot be.
        """
        shown = self.shown
        if shown is None or self._planning is not None or shown.knows_kernels:
            return
        if shown.program is self._unplanned:
            return
        program, target = shown.program, shown.target
        # Those of the device that runs another program of the document, where one is open.
        known: list[DeviceCaps] = [e.caps for e in self._executables if hasattr(e, "caps")]
        fitting = (found for found in known if found.is_software == target.is_software)
        caps = next(fitting, None)
        sizes = (shown.batch, shown.data_rows)

        def work(_handle: TaskHandle) -> Kernels:
            return planned_kernels(program, target, *sizes, caps)

        def done(kernels: Kernels) -> None:
            self._planning = None
            result = self.result
            for mode, compiled in () if result is None else tuple(result.programs.items()):
                if compiled.program is program and not compiled.knows_kernels and result:
                    self.result = result.with_program(mode, compiled.with_kernels(kernels))
            self.changed.emit()

        def failed(error: StudioError) -> None:
            # Asked for again with every change of the view, it would fail again.
            self._planning, self._unplanned = None, program
            self.kernels_refused.emit(error)

        self._planning = self._tasks.start("Plan the kernels", work, done, failed, quiet=True)

    def _note_kernels(self) -> bool:
        """Take the kernels of what runs over into the result; whether that changes anything."""
        found = False
        for executable in self._executables:
            result = self.result
            for mode, compiled in () if result is None else tuple(result.programs.items()):
                if executable.batch != compiled.batch or executable.program != compiled.program:
                    continue
                kernels = kernels_of(executable)
                if result is not None and kernels != compiled.kernels:
                    self.result = result.with_program(mode, compiled.with_kernels(kernels))
                    found = True
        return found

    # -- following the document -----------------------------------------------------------------

    def _document_changed(self, change: Change) -> None:
        if not affects_program(change):
            return
        self._edits += 1
        self._forget_running()
        self._begin()
        self.stale_changed.emit()

    def _report_changed(self) -> None:
        document = self._document
        if self._running is not None and document is not None and document.report.is_valid:
            # What runs is of the document as it is: an edit would have stopped it.
            return
        if self._edits or self.result is None:
            self._begin()

    def _begin(self, *, at_once: bool = False) -> None:
        """Compile soon, or say why that cannot be."""
        document = self._document
        if document is None:
            return
        if not document.report.is_valid:
            self._wait.cancel()
            self._forget_running()
            self._stopped(_problem(document))
        elif at_once:
            self._start()
        else:
            self._wait.ask()

    def _start(self) -> None:
        document = self._document
        if document is None or not document.report.is_valid:
            return
        self._wait.cancel()
        self._forget_running()
        try:
            project = document.project()
        except StudioError as error:
            self._stopped(Stop(error, _node_of(document, error)))
            return
        state, before, target = document.state, self.result, self._target()
        level, kept = self.level, self._kept

        def work(handle: TaskHandle) -> Compiled:
            def checkpoint(stage: str) -> None:
                handle.text = stage
                handle.check()

            return self._compiler.compile(project, state, target, level, kept, checkpoint, before)

        handle = self._tasks.start(
            f"Compile {project.name}", work, self._done, self._failed, quiet=True
        )
        self._running = handle

    def _done(self, result: Compiled) -> None:
        self._running = None
        self.result, self.stop, self._edits = result, None, 0
        self._note_kernels()
        self.changed.emit()
        self.stale_changed.emit()

    def _failed(self, error: StudioError) -> None:
        stage = "" if self._running is None else self._running.text
        self._running = None
        node = "" if self._document is None else _node_of(self._document, error)
        self._stopped(Stop(error, node, stage))

    def _stopped(self, stop: Stop | None) -> None:
        self.stop = stop
        self.changed.emit()
        self.stale_changed.emit()

    def _forget_running(self) -> None:
        if self._running is not None:
            self._running.cancel()
            self._running = None


def affects_program(change: Change) -> bool:
    """Whether an edit can change a program; places, notes and what is drawn of a layer cannot."""
    if change.sections & PROGRAM_SECTIONS:
        return True
    before, after = change.before.nodes, change.after.nodes
    if any(before[key].flows for key in change.removed):
        return True
    if any(after[key].flows for key in change.added):
        return True
    return any(_meaning(before[key]) != _meaning(after[key]) for key in change.modified)


def _meaning(node: CanvasNode) -> tuple[object, ...]:
    """What programs depend on of a node."""
    if not node.flows:
        return ()
    return (node.kind, node.type_name, node.config, node.inputs, node.bypassed, node.shares)


def _problem(document: Document) -> Stop:
    """The first thing that keeps the document from being compiled."""
    first, *others = document.report.errors
    names = {node.id: node.name for node in document.state.layers()}
    hint = first.hint
    if others:
        count = f"{len(others)} more problem{'s' if len(others) > 1 else ''}"
        hint = f"{hint}; {count}" if hint else count
    error = GraphError(first.message, who=names.get(first.node, ""), hint=hint)
    return Stop(error, first.node)


def _node_of(document: Document, error: StudioError) -> str:
    """The layer an error is about, by the name or id it gives; empty where it names none."""
    for node in document.state.layers():
        if error.who in (node.name, node.id):
            return node.id
    return ""
