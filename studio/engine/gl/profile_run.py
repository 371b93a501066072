"""Runs instrumented steps: one event per entry of the program, timed on the device."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from studio.engine.gl.recorder import Dispatch, issue
from studio.engine.gl.timers import Sample, step_timer
from studio.engine.profiler.events import KernelEvent, Profile

if TYPE_CHECKING:
    from studio.engine.gl.device_work import DeviceWork
    from studio.engine.gl.planned import Planned
    from studio.engine.isa.program import Program
    from studio.engine.runtime.entries import Entry

Plans = Sequence[tuple["Entry", Sequence["Planned"]]]


def profile_steps(
    work: DeviceWork,
    program: Program,
    batch: int,
    rows: int,
    planned: Plans,
    dispatches: Sequence[Dispatch],
    steps: int,
) -> Profile:
    """Run steps with a mark after every entry; on the engine thread, nothing in flight.

    Args:
        work: the device.
        program: what runs.
        batch: rows of the batch symbol.
        rows: rows of the resident data set.
        planned: entries and their dispatches, in order.
        dispatches: the recorded list of the same dispatches.
        steps: how many runs.
    """
    timer = step_timer(work.gl, work.engine.info)
    samples: list[Sample] = []
    begun = time.perf_counter()
    try:
        for step in range(steps):
            timer.begin(step)
            at = 0
            for number, (_, group) in enumerate(planned):
                issue(work.gl, dispatches[at : at + len(group)])
                at += len(group)
                timer.mark(str(number))
            timer.end()
            # Each step is collected before the next, so that the ring of queries never runs full.
            work.gl.finish()
            samples += timer.collect()
    finally:
        timer.release()
    wall = (time.perf_counter() - begun) * 1e6
    work.gl.check("profiling a step")
    events = _events(program, batch, rows, planned, samples)
    return Profile(_device(work), timer.source, steps, wall, tuple(events))


def _device(work: DeviceWork) -> str:
    info = work.engine.info
    return f"{info.renderer} (software)" if info.is_software else info.renderer


def _events(
    program: Program, batch: int, rows: int, planned: Plans, samples: Sequence[Sample]
) -> list[KernelEvent]:
    found: list[KernelEvent] = []
    clock = 0.0
    for sample in samples:
        for (entry, group), seconds in zip(planned, sample.seconds, strict=True):
            names = dict.fromkeys(f"{one.source.name} ({one.variant})" for one in group)
            found.append(
                KernelEvent(
                    step=sample.step,
                    section=entry.section,
                    index=entry.index,
                    mnemonic=entry.mnemonic,
                    kernel=" + ".join(names) or "none",
                    owners=entry.owners,
                    start_us=clock,
                    duration_us=seconds * 1e6,
                    flops=entry.flops(program, batch, rows),
                    traffic_bytes=entry.traffic(program, batch, rows),
                )
            )
            clock += seconds * 1e6
    return found
