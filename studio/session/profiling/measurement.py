"""What was measured of one training or dry run: kernel times, the step bar, traces to export."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from studio.engine.compiler.target import Target
from studio.engine.core.tensor import TensorType
from studio.engine.isa.program import Program
from studio.engine.profiler.events import Profile
from studio.engine.profiler.totals import Peaks
from studio.engine.profiler.trace import chrome_trace
from studio.engine.runtime.backend import Backend
from studio.engine.runtime.entries import entries
from studio.engine.train.loop.step_sampling import InstrumentedStep, StepWindow
from studio.session.compile.provenance import Provenance
from studio.session.compile.selection import Selection
from studio.session.core import entities
from studio.session.core.entities import Entity
from studio.session.profiling.kernel_rows import Grouping, KernelRow, KernelTimes
from studio.session.profiling.step_bar import StepBar, step_bar

Origin: TypeAlias = Literal["training", "dry run"]
_Work: TypeAlias = tuple[str, tuple[TensorType, ...]]
"""An instruction, and what it works on."""

WINDOWS = 400
"""Windows the step bar looks back over."""

LEAST_SECONDS = 1.0
"""Of less than this a new step bar is not made while there is an older one."""

STEPS = 200
"""Instrumented steps kept for a trace."""


RISES_IN = 0.5
"""Seconds of steps after which the clock of a GPU that had waited is high again."""


@dataclass(frozen=True, eq=False)
class Subject:
    """What is measured.

    Attributes:
        program: the training program as the backend runs it.
        device: the device, software renderers named as such.
        fingerprint: keys the device's peaks.
        target: the kind of device, as the compiler knows it.
        runs_apart: kernels run on a device while the host goes on.
        sees_studio: the share of the window's thread can be measured here.
        origin: a training, or a dry run.
    """

    program: Program
    device: str
    fingerprint: str
    target: Target
    runs_apart: bool
    sees_studio: bool
    origin: Origin

    @property
    def rises_in(self) -> float:
        """Seconds of steps before what they take is what they take from then on."""
        waits = self.runs_apart and not self.device.endswith("(software)")
        return RISES_IN if waits else 0.0

    @classmethod
    def of(
        cls, backend: Backend, program: Program, origin: Origin, *, sees_studio: bool
    ) -> Subject:
        """The subject of a training on a backend."""
        return cls(
            program,
            backend.device,
            backend.fingerprint,
            backend.target,
            backend.name == "gl",
            sees_studio,
            origin,
        )


class Measurement:
    """Collects the windows of one subject."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.provenance = Provenance(subject.program)
        self.times: KernelTimes | None = None
        self.clock = ""
        self._windows: deque[StepWindow] = deque(maxlen=WINDOWS)
        self._unsettled: deque[StepWindow] = deque(maxlen=WINDOWS)
        self._before: StepBar | None = None
        self._is_warm = False
        self._first = 0.0
        # A dry run has left its first steps out itself.
        self._rises_in = subject.rises_in if subject.origin == "training" else 0.0
        self._steps: deque[InstrumentedStep] = deque(maxlen=STEPS)
        self._entry_of = _entry_of(subject.program)
        self._bar: StepBar | None = None
        self._rows: dict[tuple[Grouping, Peaks | None], tuple[KernelRow, ...]] = {}
        self._places: tuple[Provenance, Mapping[int, int]] | None = None

    def add(self, windows: Iterable[StepWindow], *, unsettled: bool = False) -> bool:
        """Count what a sampler found; whether there was anything.

        Args:
            windows: the steps.
            unsettled: panes were opened meanwhile: the kernels' times count, the steps' do not
                while there are others.
        """
        found = list(windows)
        for window in found:
            (self._unsettled if unsettled else self._windows).append(window)
            for step in window.instrumented:
                self._add_step(step)
        if found:
            self._rows.clear()
            self._bar = None
        return bool(found)

    def restart(self) -> None:
        """Make the step bar of the steps to come; until there are enough it stays as it is."""
        self._before = self.bar if self._windows else self._before
        self._windows.clear()
        self._bar = None

    def copy(self) -> Measurement:
        """What was measured so far, which later samples do not change."""
        made = Measurement.__new__(Measurement)
        made.__dict__.update(self.__dict__)
        made.times = None if self.times is None else self.times.copy()
        made._windows = deque(self._windows, WINDOWS)
        made._unsettled = deque(self._unsettled, WINDOWS)
        made._steps = deque(self._steps, STEPS)
        made._rows = {}
        return made

    @property
    def samples(self) -> int:
        """Instrumented steps counted."""
        return 0 if self.times is None else self.times.samples

    @property
    def bar(self) -> StepBar | None:
        """The step, divided; None before there is an instrumented one."""
        if self._bar is None:
            enough = sum(window.total for window in self._windows) >= LEAST_SECONDS
            settled = self._divided(self._windows) if enough else None
            every = (*self._unsettled, *self._windows)
            self._bar = settled or self._before or self._divided(every)
        return self._bar

    def _divided(self, windows: Sequence[StepWindow]) -> StepBar | None:
        subject = self.subject
        return step_bar(windows, runs_apart=subject.runs_apart, sees_studio=subject.sees_studio)

    def rows(self, by: Grouping, peaks: Peaks | None) -> tuple[KernelRow, ...]:
        """The kernel table, slowest first."""
        if self.times is None:
            return ()
        key = (by, peaks)
        if key not in self._rows:
            self._rows[key] = self.times.rows(by, peaks)
        return self._rows[key]

    def times_ms(self, shown: Provenance | None = None) -> Mapping[int, float]:
        """Usual milliseconds by instruction, of the program another view shows.

        Args:
            shown: the provenance of that program; instructions are found by their stable keys, and
                have a time where they do the same work there: as much of it, in one kernel with
                the same others.
        """
        if self.times is None:
            return {}
        spent = self.times.median_us()
        if shown is None or shown.program is self.subject.program:
            return {index: us * 1e-3 for index, us in spent.items()}
        places = self._places_in(shown)
        return {places[index]: us * 1e-3 for index, us in spent.items() if index in places}

    def _places_in(self, shown: Provenance) -> Mapping[int, int]:
        """Where another program does what was measured here."""
        if self._places is None or self._places[0] is not shown:
            there, found = _works(shown), dict[int, int]()
            for index, work in _works(self.provenance).items():
                place = shown.index_of(self.provenance.key_of(index))
                if place is not None and there.get(place) == work:
                    found[index] = place
            self._places = shown, found
        return self._places[1]

    # -- links ----------------------------------------------------------------------------------

    def entities_of(self, row: KernelRow) -> tuple[Entity, ...]:
        """The kernels a row stands for."""
        return tuple(entities.kernel(self.provenance.key_of(index)) for index in row.indices)

    def marked(self, selection: Selection) -> tuple[frozenset[int], frozenset[int]]:
        """Instructions with a time that belong to a selection, and to its primary thing."""
        every = frozenset().union(*(self._timed(entity) for entity in selection.entities))
        primary = selection.primary
        return every, frozenset() if primary is None else self._timed(primary)

    def _timed(self, entity: Entity) -> frozenset[int]:
        """Indices under which the times of an entity's instructions stand."""
        found = (self.provenance.index_of(e.key) for e in self._lines(entity))
        return frozenset(self._entry_of.get(i, i) for i in found if i is not None)

    def _lines(self, entity: Entity) -> tuple[Entity, ...]:
        return self.provenance.related(entity, "instruction")

    # -- export ---------------------------------------------------------------------------------

    def trace(self) -> str:
        """The instrumented steps kept, as a Chrome trace on the training's own clock."""
        if not self._steps:
            return chrome_trace(Profile(self.subject.device, self.clock, 0, 0.0, ()))
        begin = self._steps[0].when
        events = []
        for number, step in enumerate(self._steps):
            offset = (step.when - begin) * 1e6
            events += [
                replace(event, step=number, start_us=event.start_us + offset)
                for event in step.profile.events
            ]
        end = self._steps[-1].when + self._steps[-1].seconds
        wall = (end - begin) * 1e6
        whole = Profile(self.subject.device, self.clock, len(self._steps), wall, tuple(events))
        return chrome_trace(whole)

    def _add_step(self, step: InstrumentedStep) -> None:
        if not step.profile.events:
            return
        known = self.times is not None and self.times.fits(step.profile)
        if self.times is None or not known or not self._is_warm:
            # The first ones run cold: they count only as long as there are no others.
            self._first = self._first if known else step.when
            self._is_warm = known and step.when - self._first >= self._rises_in
            self.times = KernelTimes(step.profile)
            self._steps.clear()
        self.times.add(step.profile)
        self.clock = step.profile.clock
        self._steps.append(step)


def _entry_of(program: Program) -> dict[int, int]:
    """For every line inside a fused group, the line its time stands under."""
    found: dict[int, int] = {}
    firsts = sorted(entry.index for entry in entries(program))
    sizes = {entry.index: len(entry.parts) + 2 if entry.kind else 1 for entry in entries(program)}
    for first in firsts:
        for index in range(first, first + sizes[first]):
            found[index] = first
    return found


def _works(provenance: Provenance) -> dict[int, list[_Work]]:
    """What runs in each kernel, by the line its time stands under."""
    found: dict[int, list[_Work]] = {}
    tensors = provenance.program.tensors
    for index, entry in _entry_of(provenance.program).items():
        names = (key.removesuffix(entities.GRADIENT) for key in provenance.operands_of(index))
        types = tuple(tensors.named(name).type for name in names)
        found.setdefault(entry, []).append((provenance.instruction_at(index).mnemonic, types))
    return found
