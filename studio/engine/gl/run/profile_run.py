"""Runs instrumented steps: one event per entry of the program, timed on the device.

An idle GPU runs at a fraction of its clock, and time it waits for the host between two kernels is
measured as the second kernel's. So a profile first raises the clock, and keeps the GPU busy while
it queues a step. A step profiled in the middle of a training uses the device as it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from studio.engine.gl.device.timers import Sample, step_timer
from studio.engine.gl.record.recorder import Dispatch, issue
from studio.engine.profiler.events import KernelEvent, Profile

if TYPE_CHECKING:
    from studio.engine.gl.record.device_work import DeviceWork
    from studio.engine.gl.shader.planned import PlannedDispatch
    from studio.engine.runtime.entries import Entry
    from studio.engine.runtime.recorder import EntryCost

SETTLE_SECONDS = 0.25
"""Seconds of steps after which the clock is looked at again."""

Plans = Sequence[tuple["Entry", Sequence["PlannedDispatch"]]]


def profile_steps(
    work: DeviceWork,
    planned: Plans,
    costs: Sequence[EntryCost],
    dispatches: Sequence[Dispatch],
    steps: int,
    *,
    while_busy: bool = False,
    exchanges: Mapping[int, Callable[[], object]] = MappingProxyType({}),
) -> Profile:
    """Run steps with a mark after every entry; on the engine thread, nothing in flight.

    Args:
        work: the device.
        planned: entries and their dispatches, in order.
        costs: what each entry does.
        dispatches: the recorded list of the same dispatches.
        steps: how many runs.
        while_busy: the device is busy already; do not raise its clock first.
        exchanges: what the host does for the entry of a number; its time is the entry's.
    """
    spinner = None if while_busy or work.caps.is_software else work.spinner
    timer = step_timer(work.gl, work.engine.info)
    samples: list[Sample] = []
    wall, looked = 0.0, -SETTLE_SECONDS
    try:
        for step in range(steps):
            if spinner is not None and wall - looked >= SETTLE_SECONDS:
                spinner.settle()
                looked = wall
            begun = time.perf_counter()
            if spinner is not None:
                # Every mark is queued like a dispatch.
                spinner.cover(len(dispatches) + len(planned) + 1)
            timer.begin(step)
            at = 0
            for number, (_, group) in enumerate(planned):
                issue(work.gl, dispatches[at : at + len(group)])
                at += len(group)
                if number in exchanges:
                    exchanges[number]()
                timer.mark(str(number))
            timer.end()
            # Each step is collected before the next, so that the ring of queries never runs full.
            work.gl.finish()
            samples += timer.collect()
            wall += time.perf_counter() - begun
    finally:
        timer.release()
    work.gl.check("profiling a step")
    events = _events(planned, costs, samples, exchanges)
    return Profile(_device(work), timer.source, steps, wall * 1e6, tuple(events))


def _device(work: DeviceWork) -> str:
    info = work.engine.info
    return f"{info.renderer} (software)" if info.is_software else info.renderer


def _events(
    planned: Plans,
    costs: Sequence[EntryCost],
    samples: Sequence[Sample],
    exchanges: Container[int],
) -> list[KernelEvent]:
    found: list[KernelEvent] = []
    clock = 0.0
    for sample in samples:
        entries = zip(planned, costs, sample.seconds, strict=True)
        for number, ((entry, group), cost, seconds) in enumerate(entries):
            names = dict.fromkeys(f"{one.source.name} ({one.variant})" for one in group)
            if number in exchanges:
                names = {"allreduce (host)": None}
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
                    flops=cost.flops,
                    traffic_bytes=cost.traffic_bytes,
                )
            )
            clock += seconds * 1e6
    return found
