"""Runs one entry of a program by one choice of kernels after another: times them, compares them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import TYPE_CHECKING

from studio.engine.core.errors import BackendError
from studio.engine.gl.choices.signatures import op_signature, product_signature
from studio.engine.gl.device.timers import step_timer
from studio.engine.gl.kernels.product import Product
from studio.engine.gl.kernels.specs import BoundInstruction, Choices
from studio.engine.gl.kernels.tiles import Tile
from studio.engine.gl.plan.planner import Planner
from studio.engine.gl.record.recorder import Recording, issue
from studio.engine.gl.tuning.trial_storages import NumberBlock, TrialStorages
from studio.engine.isa.instruction import GradInstruction
from studio.engine.runtime.entries import Entry

if TYPE_CHECKING:
    from studio.engine.gl.record.device_work import DeviceWork
    from studio.engine.gl.record.spinner import Spinner
    from studio.engine.gl.shader.planned import PlannedDispatch
    from studio.engine.isa.program import Program, Storage

_MARK_SECONDS = {True: 0.01, False: 0.0003}
"""How long runs between two marks are to take on a software renderer and on a GPU."""
_MARKS = {True: 3, False: 7}
_MOST_RUNS = 60
HOPELESS = 3.0
"""How many times as long as the best a candidate may take to be measured more than once."""


@dataclass
class Trial(Choices):
    """Choices being tried; the shipped tables answer for the others.

    Attributes:
        tiles: tile and parts by product signature.
        variants: variant by instruction signature.
        asked: products the planner asked for since this was cleared, with the tiles that fit.
    """

    tiles: dict[str, tuple[Tile, int]] = field(default_factory=dict)
    variants: dict[str, str] = field(default_factory=dict)
    asked: dict[str, tuple[Product, tuple[Tile, ...]]] = field(default_factory=dict)

    def variant(self, op: BoundInstruction) -> str:
        """The variant being tried."""
        return self.variants.get(op_signature(op), "") if self.variants else ""

    def tile(
        self, op: BoundInstruction, product: Product, tiles: Sequence[Tile]
    ) -> tuple[Tile, int] | None:
        """The tile being tried, where it is one of those to choose from."""
        sign = product_signature(op, product)
        self.asked[sign] = (product, tuple(tiles))
        found = self.tiles.get(sign)
        return found if found is not None and found[0] in tiles else None


class EntryTrials:
    """One entry with storages of its own; every method runs on the engine thread.

    Args:
        work: the device.
        program: what the entry is part of.
        entry: what is tried.
        batch: rows of the batch symbol; the resident data set counts as many.
        trial: the choices, changed by the caller between trials.
        numbers: fills storages.
        spinner: lets the host queue ahead; None where times are the host's own.
        inner: gradients of the program that live inside one kernel.
    """

    def __init__(
        self,
        work: DeviceWork,
        program: Program,
        entry: Entry,
        batch: int,
        trial: Trial,
        numbers: NumberBlock,
        spinner: Spinner | None,
        inner: frozenset[Storage],
    ) -> None:
        self.entry = entry
        self._work = work
        self._spinner = spinner
        self._room = TrialStorages(work, program, batch, batch, numbers)
        caps = replace(work.caps, choices=trial)
        self._planner = Planner(program, batch, batch, caps, self._room.place, inner)

    @property
    def op(self) -> BoundInstruction:
        """The instruction whose kernel is chosen."""
        return self._planner.op(self.entry.parts[0])

    def planned(self) -> list[PlannedDispatch]:
        """The dispatches of the choices as they stand."""
        return self._planner.plan(self.entry)

    def begin(self) -> None:
        """Make what a gradient reads: the results of the instruction it belongs to."""
        first = self.entry.parts[0]
        if not isinstance(first, GradInstruction):
            return
        forward = first.forward.of_grad(first)
        alone = Entry(self.entry.section, self.entry.index, (forward,))
        self._run_once(self._room.recorded(self._planner.plan(alone)))

    def keep(self) -> None:
        """Run the choices as they stand once, and hold others' results against theirs."""
        recording = self._room.recorded(self.planned())
        self._room.refill(self.entry.writes())
        self._run_once(recording)
        self._room.keep(self.entry.writes())

    def candidate(self, best: float = float("inf")) -> float | None:
        """Seconds the choices as they stand take; None where their results are other ones.

        Args:
            best: what the best so far takes; far above, one run says enough.

        Raises:
            BackendError: it cannot be compiled, or memory is short.
        """
        recording = self._room.recorded(self.planned())
        try:
            self._room.refill(self.entry.writes())
            issue(self._work.gl, recording.ordered)
            self._work.gl.check("trying a kernel")
            if not self._room.agrees(self.entry.writes()):
                return None
            once = self._marks([recording], 1, 1)[0][0]
            if once > HOPELESS * best:
                return once
            rounds = _MARKS[self._is_software]
            (found,) = self._marks([recording], self._runs_for(once), rounds)
            return statistics.median(found)
        finally:
            recording.release()

    def seconds(self, planned: list[PlannedDispatch]) -> float:
        """Median seconds of a list of dispatches."""
        return self._medians([planned])[0]

    def duel(
        self, first: list[PlannedDispatch], second: list[PlannedDispatch]
    ) -> tuple[float, float]:
        """Median seconds of two lists of dispatches, run in turn."""
        before, after = self._medians([first, second])
        return before, after

    def release(self) -> None:
        """Give all room back."""
        self._work.gl.finish()
        self._room.release()

    @property
    def _is_software(self) -> bool:
        return self._work.engine.info.is_software

    def _runs_for(self, once: float) -> int:
        wanted = ceil(_MARK_SECONDS[self._is_software] / max(once, 1e-7))
        return max(1, min(wanted, _MOST_RUNS))

    def _medians(self, lists: Sequence[list[PlannedDispatch]]) -> list[float]:
        """Median seconds of lists of dispatches that take turns, each run once before."""
        recordings: list[Recording] = []
        try:
            for planned in lists:
                recordings.append(self._room.recorded(planned))  # noqa: PERF401
            once = min(map(min, self._marks(recordings, 1, 2)))
            found = self._marks(recordings, self._runs_for(once), 2 * _MARKS[self._is_software])
        finally:
            for recording in recordings:
                recording.release()
        return [statistics.median(one) for one in found]

    def _run_once(self, recording: Recording) -> None:
        try:
            issue(self._work.gl, recording.ordered)
            self._work.gl.check("trying a kernel")
        finally:
            recording.release()

    def _marks(
        self, recordings: Sequence[Recording], runs: int, rounds: int
    ) -> tuple[list[float], ...]:
        """Seconds a run takes by recording and round; recordings take turns."""
        work = self._work
        timer = step_timer(work.gl, work.engine.info)
        try:
            work.gl.finish()
            if self._spinner is not None:
                self._spinner.settle()
                queued = sum(len(recording.ordered) for recording in recordings)
                self._spinner.cover(rounds * (runs * queued + len(recordings)))
            timer.begin(0)
            for _ in range(rounds):
                for number, recording in enumerate(recordings):
                    for _ in range(runs):
                        issue(work.gl, recording.ordered)
                    timer.mark(str(number))
            timer.end()
            work.gl.finish()
            samples = timer.collect()
        finally:
            timer.release()
        work.gl.check("timing a kernel")
        if not samples:
            raise BackendError("the driver answered no time", who="gl")
        # A clock may be too coarse to see one run.
        seconds = [max(one, 1e-9) / runs for one in samples[0].seconds]
        return tuple(seconds[k :: len(recordings)] for k in range(len(recordings)))
