"""``glassbox profile``: what every kernel of a training step takes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from studio.cli import console
from studio.cli.options import (
    BackendOption,
    JsonOption,
    MpiOption,
    ProjectArgument,
    WorkersOption,
    load_trusted,
    open_project,
    shared_project,
)
from studio.cli.workers import run_shared
from studio.engine.formats.atomic import write_atomic
from studio.engine.profiler.events import Profile
from studio.engine.profiler.text_table import COLUMNS, NUMBERS, PEAK_COLUMNS, kernel_cells
from studio.engine.profiler.totals import (
    KernelTotal,
    Peaks,
    group_totals,
    kernel_totals,
    raised_peaks,
)
from studio.engine.profiler.trace import chrome_trace
from studio.engine.runtime.backend import MemoryReport
from studio.engine.runtime.exchange import Exchange
from studio.engine.runtime.peaks import measure_peaks
from studio.engine.scale.parallel.joining import join_workers
from studio.engine.train.devices import open_backend
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task


def profile(
    project: ProjectArgument,
    steps: Annotated[
        int, typer.Option("--steps", help="Steps to profile.", min=1, max=100_000, metavar="N")
    ] = 20,
    roofline: Annotated[
        bool, typer.Option("--roofline", help="Show the fraction of the device's measured peak.")
    ] = False,
    trace: Annotated[
        Path | None, typer.Option("--trace", help="Write a Chrome/Perfetto trace.", metavar="FILE")
    ] = None,
    backend: BackendOption = "auto",
    workers: WorkersOption = None,
    mpi: MpiOption = False,
    as_json: JsonOption = False,
) -> None:
    """Profile the training step of a project, kernel by kernel.

    Times, shares and order are medians, so a single slow call changes none of them. Of several
    workers the first shows its own; each exchange is waited for where it begins.
    """
    order = ProfileOrder(project, steps, roofline, trace, backend, as_json)
    raise typer.Exit(run_shared(order, workers, mpi=mpi))


@dataclass(frozen=True)
class ProfileOrder:
    """What the command was asked for; its fields are those of the command."""

    project: str
    steps: int
    roofline: bool
    trace: Path | None
    backend: str
    as_json: bool

    @property
    def words(self) -> list[str]:
        """The command of each worker."""
        flags = {"--roofline": self.roofline, "--json": self.as_json}
        words = ["profile", self.project, *(flag for flag, is_set in flags.items() if is_set)]
        words += ["--steps", str(self.steps), "--backend", self.backend]
        return words if self.trace is None else [*words, "--trace", str(self.trace)]

    def at(self, path: Path) -> ProfileOrder:
        """The same for the project file at a path."""
        return replace(self, project=str(path))

    def opened(self, path: Path) -> Project:
        """The project."""
        return load_trusted(path)

    def run(self, exchange: Exchange | None = None) -> int:
        """Profile, and show what was found; the code to end with."""
        if exchange is None:
            opened = open_project(self.project)
        else:
            opened = self.opened(shared_project(self.project, exchange))
        task = Task.of_project(opened)
        if exchange is not None:
            join_workers(exchange, task, opened)
        with open_backend(self.backend, exchange=exchange) as device:
            with Trainer(task, device.backend) as trainer:
                found = trainer.profile(self.steps)
                memory = device.backend.memory()
            if exchange is not None and exchange.rank > 0:
                return 0
            # Afterwards, since what measuring takes is no memory of the step.
            size = 128 if "software" in device.backend.device else 1024
            peaks = measure_peaks(device.backend, size) if self.roofline else None
        if peaks is not None:
            peaks = raised_peaks(found, peaks)
        if self.trace is not None:
            write_atomic(self.trace, chrome_trace(found).encode("utf-8"))
        self._tell(found, peaks, memory)
        return 0

    def _tell(self, found: Profile, peaks: Peaks | None, memory: MemoryReport) -> None:
        totals = kernel_totals(found, peaks)
        if self.as_json:
            console.answer_json(
                {
                    "device": found.device,
                    "clock": found.clock,
                    "steps": found.steps,
                    "wall_us": found.wall_us,
                    "peaks": asdict(peaks) if peaks else None,
                    "kernels": [asdict(t) for t in totals],
                    "memory": asdict(memory),
                }
            )
            return
        _print_table(found, totals, peaks)
        layers = group_totals(found, lambda e: e.owners)
        console.say("\nby layer:")
        console.table(
            ("layer", "µs/step", "share"),
            [(g.name, f"{g.step_us:.1f}", f"{g.share:.1%}") for g in layers],
            right=(1, 2),
        )
        console.say(
            f"\nmemory: {memory.persistent_bytes + memory.transient_bytes:,} bytes in use, "
            f"{memory.peak_bytes:,} at the peak, {memory.pooled_bytes:,} kept for reuse"
        )
        if self.trace is not None:
            console.say(f"trace: {self.trace}")


def _print_table(found: Profile, totals: tuple[KernelTotal, ...], peaks: Peaks | None) -> None:
    kernels = sum(t.median_us * t.calls for t in totals) / found.steps
    wall = found.wall_us / found.steps
    console.say(
        f"{found.device}, {found.clock}: {found.steps} instrumented steps, {wall:.0f} µs a step "
        f"on average, {kernels:.0f} µs of kernels by medians"
    )
    columns = list(COLUMNS)
    if peaks is not None:
        columns += PEAK_COLUMNS
        console.say(f"measured peak: {peaks.gflops:.0f} GFLOP/s, {peaks.gbytes:.0f} GB/s")
        if peaks.doubt:
            console.say(f"the peak may be wrong: {peaks.doubt}")
    rows = [kernel_cells(total, peaks=peaks is not None) for total in totals]
    console.table(columns, rows, right=NUMBERS)
