"""Microseconds of every dispatch and of every level of a training step, on the device's clock.

python -m benchmarks.gl_dispatches W4 128 [--top 30]

A mark stands behind each dispatch, then behind each level; a mark itself costs a few microseconds.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence

from benchmarks.ours import network_of, ready_to_train
from benchmarks.workloads import WORKLOADS
from studio.engine.gl.device.timers import step_timer
from studio.engine.gl.record.recorder import Dispatch, issue
from studio.engine.gl.run.executable import GlExecutable
from studio.engine.train.devices import open_backend

STEPS = 15


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("work", choices=sorted(WORKLOADS))
    parser.add_argument("batch", type=int)
    parser.add_argument("--top", type=int, default=30)
    options = parser.parse_args(arguments)
    work, batch = WORKLOADS[options.work], options.batch
    with open_backend("gl") as opened:
        if work.optimizer:
            with ready_to_train(work, batch, opened.backend) as (_, executable):
                _report(executable, options.top)
        else:
            network, samples = network_of(work, batch, opened.backend)
            with network:
                executable = network.executable("infer", batch)
                executable.feed(executable.program.inputs[0], samples.inputs[0])
                _report(executable, options.top)
    return 0


def _report(executable: GlExecutable, top: int) -> None:
    executable.run(20)
    executable.finish()
    call = executable.work.engine.call
    names = call(_names, executable)
    order = executable.issued
    levels: list[list[Dispatch]] = []
    for one in order:
        levels += [[]] if one.barrier else []
        levels[-1].append(one)
    each = call(_times, executable, [[one] for one in order])
    whole = call(_times, executable, levels)
    kinds: dict[str, list[float]] = defaultdict(list)
    for one, micros in zip(order, each, strict=True):
        kinds[names[one.program]].append(micros)
    out = sys.stdout.write
    out(f"{len(order)} dispatches {sum(each):.0f} us, {len(levels)} levels {sum(whole):.0f} us\n")
    for name, found in sorted(kinds.items(), key=lambda item: -sum(item[1])):
        out(f"{sum(found):9.1f} us  {len(found):4d} x {statistics.median(found):7.1f}  {name}\n")
    slow = sorted(range(len(levels)), key=lambda k: -whole[k])[:top]
    for k in sorted(slow):
        parts = ", ".join(f"{names[one.program]}{one.groups}" for one in levels[k])
        out(f"level {k:3d} {whole[k]:7.1f} us  {parts}\n")


def _names(executable: GlExecutable) -> dict[int, str]:
    """Kernels by the driver's program; on the engine thread."""
    sources = [one.source for _, planned in executable.planned for one in planned]
    return {executable.work.compiled(source): source.name for source in sources}


def _times(executable: GlExecutable, parts: Sequence[Sequence[Dispatch]]) -> list[float]:
    """Median microseconds of each part; on the engine thread."""
    work = executable.work
    timer = step_timer(work.gl, work.engine.info)
    spinner = None if work.caps.is_software else work.spinner
    samples = []
    if spinner is not None:
        spinner.settle()
    for step in range(STEPS):
        if spinner is not None:
            # Queued while the device is busy, so that no wait for the host counts; marks, too.
            spinner.cover(sum(map(len, parts)) + len(parts) + 1)
        timer.begin(step)
        for k, part in enumerate(parts):
            issue(work.gl, part)
            timer.mark(str(k))
        timer.end()
        work.gl.finish()
        samples += timer.collect()
    timer.release()
    columns = zip(*(sample.seconds for sample in samples), strict=True)
    return [statistics.median(column) * 1e6 for column in columns]


if __name__ == "__main__":
    raise SystemExit(main())
