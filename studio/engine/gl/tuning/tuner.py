"""Finds the fastest kernels for the shapes of programs by running them on the device."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from studio.engine.compiler.lifetimes import inner_gradients
from studio.engine.core.errors import BackendError, ShaderError
from studio.engine.gl.choices.measured_choices import Measured, tile_variant
from studio.engine.gl.choices.signatures import op_signature
from studio.engine.gl.device.entry_points import ContextLostError
from studio.engine.gl.device.timers import step_timer
from studio.engine.gl.kernels.families import all_variants, choose
from studio.engine.gl.kernels.product import Product
from studio.engine.gl.kernels.tiles import Tile
from studio.engine.gl.shader.assignments import has_formula
from studio.engine.gl.tuning.candidates import (
    TileChoice,
    finer_and_coarser,
    first_tiles,
    other_variants,
)
from studio.engine.gl.tuning.findings import Finding, Tuning
from studio.engine.gl.tuning.trial_storages import NumberBlock
from studio.engine.gl.tuning.trials import HOPELESS, EntryTrials, Trial
from studio.engine.gl.tuning.whole_steps import hold_against_steps
from studio.engine.isa.ops.norm import ColumnSums
from studio.engine.runtime.entries import Entry, entries

if TYPE_CHECKING:
    from studio.engine.gl.backend import GlBackend
    from studio.engine.gl.record.device_work import DeviceWork
    from studio.engine.gl.shader.planned import PlannedDispatch
    from studio.engine.gl.shader.source import KernelSource
    from studio.engine.isa.program import Program, Storage

LEAST_GAIN = 1.03
"""How many times as fast a choice must be to take the place of the shipped one."""
_BEST_TILES = 2
"""Tiles whose other cuts are tried too."""
INFINITE = float("inf")

Named = tuple[str, int]
"""A variant, and the parts a product is cut into; 0 for a whole instruction."""
Job = tuple["Program", int]
"""A program and the rows of its batch."""
Hear = Callable[[int, int, str], None]
"""Hears (kernels decided, kernels in all, the one under way)."""


def tune_kernels(
    backend: GlBackend, jobs: Sequence[Job], seconds: float, hear: Hear | None = None
) -> Tuning:
    """Measure the kernel choices that programs leave open; changes nothing by itself.

    First kernels are run alone. Then whole steps run by the choices found and by the shipped ones,
    and choices that make a step slower are dropped.

    Args:
        backend: the device.
        jobs: programs with the batch each runs in.
        seconds: when to stop trying kernels; whole steps are run after that.
        hear: told (kernels decided, kernels in all, the one under way), on another thread.
    """
    work = backend.work
    found = work.engine.call(_measure_alone, work, tuple(jobs), seconds, hear)
    found = hold_against_steps(backend, jobs, found)
    work.engine.call(work.pool.trim)
    return found


def _measure_alone(
    work: DeviceWork, jobs: Sequence[Job], seconds: float, hear: Hear | None
) -> Tuning:
    """Measure single kernels; on the engine thread."""
    return _Tuner(work, seconds, hear).run(jobs)


@dataclass
class _Subject:
    """Equal entries, of which one is tried.

    Attributes:
        program: what the entry is part of.
        inner: gradients of the program that live inside one kernel.
        entry: the one tried.
        batch: rows of the batch symbol.
        count: how many there are.
        seconds: what one takes as shipped.
        done: whether its turn has come.
    """

    program: Program
    inner: frozenset[Storage]
    entry: Entry
    batch: int
    count: int = 1
    seconds: float = 0.0
    done: bool = False


@dataclass
class _Search:
    """Candidates run for one signature: seconds by candidate, and those that were refused."""

    seconds: dict[Named, float] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)

    @property
    def best(self) -> float:
        """What the fastest takes."""
        return min(self.seconds.values(), default=INFINITE)

    def best_of(self, default: Named) -> Named:
        """The fastest; the default where none ran."""
        return min(self.seconds, key=self.seconds.__getitem__, default=default)


class _Tuner:
    def __init__(self, work: DeviceWork, seconds: float, hear: Hear | None) -> None:
        self._work = work
        self._begun = time.monotonic()
        self._deadline = self._begun + seconds
        self._hear = hear
        self._trial = Trial()
        self._findings: dict[str, Finding] = {}
        self._passed_over: list[str] = []
        self._sources: list[KernelSource] = []
        self._software = work.caps.is_software
        self._spinner = None if work.caps.is_software else work.spinner
        # Last, since it has to be given back.
        self._numbers = NumberBlock(work)

    def run(self, jobs: Sequence[Job]) -> Tuning:
        """Measure what takes the most time first, until all is done or time is up."""
        try:
            subjects = self._subjects(jobs)
            ranked = self._ranked(subjects)
            for done, subject in enumerate(ranked):
                if self._is_over:
                    break
                self._tell(done, len(ranked), subject)
                known = len(self._findings)
                with self._opened(subject) as trials:
                    self._tune(trials)
                # Where time was up before anything was tried, nothing is known of it.
                subject.done |= len(self._findings) > known or not self._is_over
        finally:
            self._numbers.release()
            # What trials of large layers took is not kept from whole steps.
            self._work.pool.trim()
        seconds = time.monotonic() - self._begun
        clock = step_timer(self._work.gl, self._work.engine.info).source
        left = sum(not one.done for one in subjects)
        passed_over = tuple(dict.fromkeys(self._passed_over))
        return Tuning(tuple(self._findings.values()), left, seconds, clock, passed_over)

    @property
    def _is_over(self) -> bool:
        return time.monotonic() >= self._deadline or self._work.engine.stopping.is_set()

    def _tell(self, done: int, total: int, subject: _Subject) -> None:
        if self._hear is not None:
            self._hear(done, total, _name_of(subject.entry))

    @contextmanager
    def _opened(self, subject: _Subject) -> Iterator[EntryTrials]:
        """Room to try an entry in; what cannot run alone is passed over, and named."""
        trials = EntryTrials(
            self._work,
            subject.program,
            subject.entry,
            subject.batch,
            self._trial,
            self._numbers,
            self._spinner,
            subject.inner,
        )
        try:
            yield trials
        except ContextLostError:
            raise
        except BackendError as error:
            self._passed_over.append(f"{_name_of(subject.entry)}: {error.message}")
            subject.done = True
        finally:
            trials.release()

    # -- what there is to try -------------------------------------------------------------------

    def _subjects(self, jobs: Sequence[Job]) -> list[_Subject]:
        """Entries with a choice, equal ones counted together."""
        found: dict[tuple[str, ...], _Subject] = {}
        for program, batch in jobs:
            inner = inner_gradients(program)
            for entry in map(_without_sums, filter(_has_kernel_file, entries(program))):
                subject = _Subject(program, inner, entry, batch)
                with self._opened(subject) as trials:
                    key = (op_signature(trials.op), *(p.mnemonic for p in entry.parts[1:]))
                    if key in found:
                        found[key].count += 1
                    elif self._offers(trials):
                        found[key] = subject
        return list(found.values())

    def _offers(self, trials: EntryTrials) -> bool:
        """Whether there is anything to choose from."""
        self._trial.asked.clear()
        planned = trials.planned()
        self._sources += [one.source for one in planned]
        several = any(len(tiles) > 1 for _, tiles in self._trial.asked.values())
        return several or bool(other_variants(trials.op))

    def _ranked(self, subjects: Sequence[_Subject]) -> list[_Subject]:
        """Those that run alone, with what they take as shipped; the dearest first."""
        ranked = []
        if not self._is_over:
            self._compile_together(self._sources)
        for subject in subjects:
            if self._is_over:
                break
            with self._opened(subject) as trials:
                subject.seconds = trials.seconds(trials.planned())
                ranked.append(subject)
        return sorted(ranked, key=lambda s: s.count * s.seconds, reverse=True)

    # -- trying it ------------------------------------------------------------------------------

    def _tune(self, trials: EntryTrials) -> None:
        """Decide the products of an entry, then its variant, as far as equal ones did not."""
        trial, op = self._trial, trials.op
        decided = op_signature(op) in self._findings or not other_variants(op)
        if decided and not self._asks_for_more(trials):
            return
        tiles, trial.tiles = trial.tiles, {}
        try:
            trials.begin()
            trials.keep()
        finally:
            trial.tiles = tiles
        self._tune_products(trials)
        self._tune_variant(trials)

    def _tune_products(self, trials: EntryTrials) -> None:
        """Decide whatever products the choices as they stand consist of."""
        self._trial.asked.clear()
        trials.planned()
        for sign, product, tiles in self._open():
            if not self._is_over:
                self._tune_product(trials, sign, product, tiles)

    def _tune_product(
        self, trials: EntryTrials, sign: str, product: Product, tiles: tuple[Tile, ...]
    ) -> None:
        """Try every tile, and other cuts of the depth with the best of them."""
        chosen, search = self._trial.tiles, _Search()
        by_name: dict[Named, TileChoice] = {}

        def attempt(cut: TileChoice) -> float:
            name = _named(cut)
            if name not in by_name:
                by_name[name] = chosen[sign] = cut
                self._attempt(trials, search, name)
            return search.seconds.get(name, INFINITE)

        cuts = first_tiles(product, tiles, software=self._software)
        default = cuts[0]
        self._compile_ahead(trials, sign, cuts)
        leaders = sorted(cuts, key=attempt)[:_BEST_TILES]
        for leader in leaders:
            for walk in finer_and_coarser(product, leader, default, software=self._software):
                before = attempt(leader)
                for cut in walk:
                    now = attempt(cut)
                    if now >= before:
                        break
                    before = now
        chosen[sign] = default
        shipped = trials.planned()
        chosen[sign] = by_name[search.best_of(_named(default))]
        finding = self._judged(trials, sign, shipped, _named(default), search)
        if not finding.improved:
            del chosen[sign]

    def _tune_variant(self, trials: EntryTrials) -> None:
        """Try the other variants of the instruction, their own products decided first."""
        op = trials.op
        sign = op_signature(op)
        others = other_variants(op)
        if sign in self._findings or not others or self._is_over:
            return
        variants, search = self._trial.variants, _Search()
        default, shipped = (choose(op).name, 0), trials.planned()
        self._attempt(trials, search, default)
        for name in others:
            variants[sign] = name
            seconds = self._attempt(trials, search, (name, 0))
            if seconds < HOPELESS * search.best and self._asks_for_more(trials):
                self._tune_products(trials)
                self._attempt(trials, search, (name, 0))
        variants[sign] = search.best_of(default)[0]
        finding = self._judged(trials, sign, shipped, default, search)
        if not finding.improved:
            del variants[sign]

    def _asks_for_more(self, trials: EntryTrials) -> bool:
        """Whether the choices as they stand have products that are not decided."""
        self._trial.asked.clear()
        trials.planned()
        return bool(self._open())

    def _open(self) -> list[tuple[str, Product, tuple[Tile, ...]]]:
        """Products asked for that are not decided and leave a choice."""
        return [
            (sign, *asked)
            for sign, asked in self._trial.asked.items()
            if sign not in self._findings and len(asked[1]) > 1
        ]

    def _compile_ahead(self, trials: EntryTrials, sign: str, cuts: Sequence[TileChoice]) -> None:
        """Compile the candidates together."""
        sources: list[KernelSource] = []
        for cut in cuts:
            self._trial.tiles[sign] = cut
            sources += [one.source for one in trials.planned()]
        self._compile_together(sources)

    def _compile_together(self, sources: Sequence[KernelSource]) -> None:
        """Compile many kernels, which drivers do on several threads.

        Whatever is refused is found again, and named, when its turn comes.
        """
        with suppress(ShaderError):
            self._work.compile_all(sources, None)

    def _attempt(self, trials: EntryTrials, search: _Search, name: Named) -> float:
        """Seconds of the choices as they stand; infinite where they are refused or time is up."""
        if self._is_over and search.seconds:
            return INFINITE
        why = "its results are not those of the shipped kernel"
        try:
            seconds = trials.candidate(search.best)
        except ContextLostError:
            raise
        except BackendError as error:
            seconds, why = None, error.message
        if seconds is None:
            search.refused.append(f"{_words(name)}: {why}")
            return INFINITE
        search.seconds[name] = seconds
        return seconds

    def _judged(
        self,
        trials: EntryTrials,
        sign: str,
        shipped: list[PlannedDispatch],
        default: Named,
        search: _Search,
    ) -> Finding:
        """Hold the choices as they stand against the shipped dispatches, run in turn."""
        best = search.best_of(default)
        if best == default:
            measured = Measured(*default, 1e6 * trials.seconds(shipped), 1.0)
        else:
            before, after = trials.duel(shipped, trials.planned())
            gain = before / after
            better = gain >= LEAST_GAIN
            named, seconds = (best, after) if better else (default, before)
            measured = Measured(*named, 1e6 * seconds, gain if better else 1.0)
        tried = len(search.seconds)
        finding = Finding(sign, default, measured, tried, tuple(search.refused))
        self._findings[sign] = finding
        return finding


def _has_kernel_file(entry: Entry) -> bool:
    """Whether an entry is an instruction with variants, alone or with what follows it."""
    first = entry.parts[0]
    alone = len(entry.parts) == 1 or entry.kind == "epilogue"
    return alone and not has_formula(first) and first.mnemonic in all_variants()


def _without_sums(entry: Entry) -> Entry:
    """An entry less the sums of its columns, whose parts differ between variants."""
    parts = tuple(part for part in entry.parts if not isinstance(part, ColumnSums))
    if not parts or len(parts) == len(entry.parts):
        return entry
    return replace(entry, parts=parts, kind=entry.kind if len(parts) > 1 else "")


def _name_of(entry: Entry) -> str:
    """An entry as people know it: what it does, and the layers it does it for."""
    return f"{entry.mnemonic} {', '.join(entry.owners)}"


def _named(cut: TileChoice) -> Named:
    return tile_variant(cut[0]), cut[1]


def _words(name: Named) -> str:
    variant, parts = name
    return f"{variant} in {parts} parts" if parts > 1 else variant
