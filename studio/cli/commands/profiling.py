"""``glassbox profile``: what every kernel of a training step takes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from studio.cli import console
from studio.cli.options import BackendOption, JsonOption, ProjectArgument, open_project
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
from studio.engine.runtime.peaks import measure_peaks
from studio.engine.train.devices import open_backend
from studio.engine.train.loop.trainer import Trainer
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
    as_json: JsonOption = False,
) -> None:
    """Profile the training step of a project, kernel by kernel.

    Times, shares and order are medians, so a single slow call changes none of them.
    """
    task = Task.of_project(open_project(project))
    with open_backend(backend) as device:
        software = "software" in device.backend.device
        with Trainer(task, device.backend) as trainer:
            found = trainer.profile(steps)
            memory = device.backend.memory()
        # Afterwards, since what measuring takes is no memory of the step.
        peaks = measure_peaks(device.backend, 128 if software else 1024) if roofline else None
    if peaks is not None:
        peaks = raised_peaks(found, peaks)
    if trace is not None:
        write_atomic(trace, chrome_trace(found).encode("utf-8"))
    totals = kernel_totals(found, peaks)
    if as_json:
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
    if trace is not None:
        console.say(f"trace: {trace}")


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
