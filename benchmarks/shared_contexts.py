"""Pictures of tensors drawn while a network trains: how many are whole, and what they cost it.

Two contexts of one device share buffers: one trains on the engine's thread, the other draws on a
thread of its own, offscreen. First a program writes the same number into every element of a tensor,
a new one each step, so that a picture of two steps at once is seen at once: none may be drawn from
snapshots, and some must be when the live buffer is drawn, or the test could not see them. Then a
real network trains with and without somebody looking, in turns.

Run from the root of the repository: ``python3 -m benchmarks.shared_contexts --json out.json``.
With ``--qt`` both contexts are Qt's, made as the window makes them: it needs an X server.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from benchmarks import ours
from benchmarks.pixel_target import PixelTarget
from benchmarks.shared_egl import SharedEgl
from benchmarks.timing import machine
from benchmarks.workloads import WORKLOADS
from studio.engine.core.tensor import Ref, Role
from studio.engine.gl.backend import GlBackend
from studio.engine.gl.device.context import ContextProvider, DeviceContext
from studio.engine.gl.live.live import GlSnapshot
from studio.engine.gl.live.painter import PALETTE, SheetPainter, Source, View
from studio.engine.gl.run.executable import GlExecutable
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.ops.arithmetic import Add
from studio.engine.isa.ops.move import Concat, Copy
from studio.engine.isa.program import Program
from studio.engine.runtime.live import StepClock, Tap
from studio.engine.runtime.live_sheet import Pick, Sheet
from studio.engine.train.loop.epoch_loop import CHUNK_SECONDS

PIXELS = 512
BANDS = 16
PICTURE = "picture"
COLOURS = np.stack([np.arange(PALETTE) % 256] * 3 + [np.full(PALETTE, 255)], 1).astype(np.uint8)


@dataclass(frozen=True)
class Torn:
    """Pictures of the tensor that holds one number."""

    source: str
    side: int
    frames: int
    torn: int
    steps: int


@dataclass(frozen=True)
class Cost:
    """A training with and without somebody looking."""

    work: str
    batch: int
    tensor: str
    elements: int
    looks: str
    alone_ms: float
    watched_ms: float
    frames_per_second: float
    draw_ms: float

    @property
    def slower(self) -> float:
        """How much longer a step takes, as a share."""
        return self.watched_ms / self.alone_ms - 1.0


def counting(side: int) -> Program:
    """A picture of side x side, the same number everywhere and one more in every run.

    It is written band by band, by a dispatch each, so that whoever draws it in between sees two
    steps at once.
    """
    build = ProgramBuilder("counting", "train")
    band = (side // BANDS, side)
    count = build.tensor("count", band, role=Role.STATE)
    one = build.tensor("one", (1,), role=Role.CONST, value=(1.0,))
    more = build.tensor("more", band)
    picture = build.tensor(PICTURE, (band[0] * BANDS, side), role=Role.STATE)
    build.append("forward", Add(x1=count, x2=one, y=more))
    build.append("forward", Concat(xs=(more,) * BANDS, y=picture, axis=0))
    build.append("update", Copy(x=more, y=count))
    return build.finish((), (more,))


def whole(shape: tuple[int, ...]) -> Sheet:
    """The last two axes of a tensor as one picture of at most `PIXELS` cells a side."""
    rows, columns = len(shape) - 2, len(shape) - 1
    picks = tuple(Pick(0, 1, size if axis >= rows else 1) for axis, size in enumerate(shape))
    block = [max(1, -(-shape[axis] // PIXELS)) for axis in (rows, columns)]
    return Sheet(shape, picks, rows=rows, columns=columns, block=(block[0], block[1]))


class SharedContexts(ContextProvider, Protocol):
    """Gives the context of the engine and, once that is open, one to draw in."""

    def viewer(self) -> DeviceContext:
        """The context to draw in, current nowhere."""
        ...


class Viewer:
    """The second context: made and used on the thread that calls."""

    def __init__(self, contexts: SharedContexts) -> None:
        self._context = contexts.viewer()
        if not self._context.make_current():
            raise SystemExit("the second context cannot be made current")
        self.target = PixelTarget(self._context.load, PIXELS, PIXELS)
        self.painter = SheetPainter(self._context.load)
        self.painter.set_palette(COLOURS)

    def draw(self, source: Source, view: View) -> None:
        """Draw one picture; nothing waits for it."""
        self.painter.draw(source, view, PIXELS, PIXELS)

    def finish(self) -> None:
        """Wait until everything is drawn."""
        self.painter.gl.finish()

    def close(self) -> None:
        """Give everything back."""
        self.painter.release()
        self.target.release()
        self._context.release()


def torn_frames(backend: GlBackend, contexts: SharedContexts, side: int, frames: int) -> list[Torn]:
    """Count torn pictures, from snapshots and from the live buffer, while steps run flat out."""
    side -= side % BANDS
    session = backend.open_session()
    executable = backend.compile(counting(side), session, 1)
    there, stop = threading.Event(), threading.Event()
    tap = session.tap(PICTURE, ready=there.set)
    clock = StepClock()
    executable.attach(tap, clock)
    done = [0]

    def train() -> None:
        while not stop.is_set():
            done[0] += executable.run(20, stop.is_set)

    thread = threading.Thread(target=train)
    live = live_source(executable, backend)
    viewer = Viewer(contexts)
    thread.start()
    cells = side // max(1, -(-side // PIXELS))
    sheet = whole((side, side))
    torn = {"snapshot": 0, "live buffer": 0}
    try:
        for _ in range(frames):
            tap.request()
            there.wait()
            there.clear()
            snapshot = tap.take()
            if not isinstance(snapshot, GlSnapshot):
                continue
            step = snapshot.moment.step
            viewer.draw(Source.of(snapshot), View(sheet, low=step - 128, high=step + 127))
            seen = viewer.target.read()[:cells, :cells, 0]
            torn["snapshot"] += bool((seen != 128).any())
            snapshot.drawn(viewer.painter.fence())
            snapshot.release()
        for _ in range(frames):
            # At whatever moment: nothing waits for the end of a step.
            step = clock.step
            viewer.draw(live, View(sheet, low=step - 128, high=step + 127))
            torn["live buffer"] += np.unique(viewer.target.read()[:cells, :cells, 0]).size > 1
    finally:
        stop.set()
        thread.join()
        viewer.close()
        tap.close()
        executable.close()
        session.close()
    return [Torn(source, side, frames, count, done[0]) for source, count in torn.items()]


def live_source(executable: GlExecutable, backend: GlBackend) -> Source:
    """The buffer the training itself writes: what must never be drawn."""
    ref = Ref(executable.program.tensors.named(PICTURE).id)
    where = backend.work.engine.call(executable._storages.where, ref)
    descriptor = executable._storages.descriptor(ref)
    return Source(where.buffer.name, where.offset, where.nbytes, descriptor)


@dataclass(frozen=True)
class Look:
    """A way of looking.

    Attributes:
        name: of the row.
        interval: seconds between two pictures; 0 for none at all.
        statistics: have statistics made of every snapshot and read back.
        draws: draw every snapshot.
        context: open the second context.
    """

    name: str
    interval: float = 0.1
    statistics: bool = True
    draws: bool = True
    context: bool = True


LOOKS = (
    Look("a tap nobody asks", 0.0, context=False),
    Look("a second context that draws nothing", 0.0),
    Look("10 statistics a second", draws=False, context=False),
    Look("10 pictures a second without statistics", statistics=False),
    Look("10 pictures a second"),
    Look("60 pictures a second", 1 / 60),
)


class Looking:
    """A thread that looks at a tensor again and again; begins when told.

    Args:
        contexts: gives the second context.
        tap: the tensor.
        there: set when a snapshot has come.
        look: what it does.
    """

    def __init__(
        self, contexts: SharedContexts, tap: Tap, there: threading.Event, look: Look
    ) -> None:
        self.frames = 0
        self._contexts = contexts
        self._tap = tap
        self._there = there
        self._look = look
        self._ready, self._go, self._stop = (threading.Event() for _ in range(3))
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        self._ready.wait()

    def begin(self) -> None:
        """Look from now on; the second context is open already."""
        self._go.set()

    def close(self) -> int:
        """End, and say how many times it looked."""
        self._stop.set()
        self._go.set()
        self._thread.join()
        return self.frames

    def _run(self) -> None:
        viewer = Viewer(self._contexts) if self._look.context else None
        self._ready.set()
        self._go.wait()
        held: GlSnapshot | None = None
        while not self._stop.is_set():
            begun = time.perf_counter()
            if not self._look.interval:
                self._stop.wait()
                break
            self._tap.request()
            if not self._there.wait(0.5):
                continue
            self._there.clear()
            snapshot = self._tap.take()
            if isinstance(snapshot, GlSnapshot):
                held = self._show(snapshot, held, viewer)
            self._stop.wait(max(0.0, self._look.interval - (time.perf_counter() - begun)))
        if held is not None:
            held.release()
        if viewer is not None:
            viewer.finish()
            viewer.close()

    def _show(
        self, snapshot: GlSnapshot, held: GlSnapshot | None, viewer: Viewer | None
    ) -> GlSnapshot:
        """Look at a snapshot and give the one before back."""
        low, high = 0.0, 1.0
        if self._look.statistics:
            found = snapshot.render().statistics
            if found is not None:
                low, high = found.low, found.high
        if viewer is not None and self._look.draws:
            viewer.draw(Source.of(snapshot), View(whole(snapshot.shape), low=low, high=high))
            if held is not None:
                held.drawn(viewer.painter.fence())
        if held is not None:
            held.release()
        self.frames += 1
        return snapshot


def draw_milliseconds(contexts: SharedContexts, snapshot: GlSnapshot, count: int = 200) -> float:
    """What one picture takes on the device, from many in a row."""
    viewer = Viewer(contexts)
    view = View(whole(snapshot.shape), low=-1, high=1)
    source = Source.of(snapshot)
    viewer.draw(source, view)
    viewer.finish()
    begun = time.perf_counter()
    for _ in range(count):
        viewer.draw(source, view)
    viewer.finish()
    took = (time.perf_counter() - begun) / count * 1e3
    viewer.close()
    return took


def largest_activation(program: Program) -> str:
    """The stored activation with the most elements of a sample."""
    stored = [
        t for t in program.tensors.values()
        if t.role is Role.ACTIVATION and not t.register and len(t.shape) >= 2
        and t.view_of is None and t.shape[0] == -1
    ]  # fmt: skip
    return max(stored, key=lambda t: np.prod(t.shape[1:])).name


def costs(
    backend: GlBackend,
    contexts: SharedContexts,
    word: str,
    batch: int,
    seconds: float,
    repeats: int,
) -> list[Cost]:
    """Step times alone and with somebody looking, in turns, medians of each."""
    work = WORKLOADS[word]
    found: list[Cost] = []
    with ours.ready_to_train(work, batch, backend) as (network, executable):
        name = largest_activation(network.program("train"))

        def block() -> float:
            """Milliseconds of a step, over a while; queued in chunks as a training does."""
            executable.finish()
            begun, steps, chunk = time.perf_counter(), 0, 1
            while (passed := time.perf_counter() - begun) < seconds:
                if steps:
                    chunk = max(1, min(2 * chunk, int(CHUNK_SECONDS * steps / passed)))
                steps += executable.run(chunk)
            executable.finish()
            return (time.perf_counter() - begun) / steps * 1e3

        block()
        shape = network.program("train").tensors.named(name).shape
        elements = batch * int(np.prod(shape[1:]))
        draw = _draw_time(network.live.watch, network.live.unwatch, executable, contexts, name)
        for look in LOOKS:
            alone: list[float] = []
            watched: list[float] = []
            frames = 0
            for _ in range(repeats):
                alone.append(block())
                there = threading.Event()
                tap = network.live.watch(name, ready=there.set)
                looking = Looking(contexts, tap, there, look)
                looking.begin()
                watched.append(block())
                frames += looking.close()
                network.live.unwatch(tap)
            found.append(
                Cost(word, batch, name, elements, look.name, statistics.median(alone),
                     statistics.median(watched), frames / (repeats * seconds), draw)
            )  # fmt: skip
    return found


def _draw_time(
    watch: Callable[[str], Tap], unwatch: Callable[[Tap], None], executable: GlExecutable,
    contexts: SharedContexts, name: str,
) -> float:  # fmt: skip
    tap = watch(name)
    tap.request()
    executable.run(1)
    executable.finish()
    snapshot = tap.take()
    if not isinstance(snapshot, GlSnapshot):
        raise SystemExit("no snapshot came")
    took = draw_milliseconds(contexts, snapshot)
    snapshot.release()
    unwatch(tap)
    return took


@contextmanager
def shared_contexts(*, qt: bool) -> Iterator[SharedContexts]:
    """Contexts of EGL, or those of Qt that the studio's window has."""
    if not qt:
        yield SharedEgl()
        return
    from benchmarks.qt_contexts import SharedQt

    made = SharedQt()
    try:
        yield made
    finally:
        made.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write JSON if asked; 1 where a picture from a snapshot was torn."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=2048, help="side of the counted tensor")
    parser.add_argument("--frames", type=int, default=400, help="to look for torn ones, or 0")
    parser.add_argument("--works", default="W3,W4", help="workloads to train")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each block")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--qt", action="store_true", help="contexts of Qt, as the window has them")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    with shared_contexts(qt=options.qt) as contexts:
        backend = GlBackend(contexts)
        facts = {**machine(), "device": backend.device, "driver": backend.info.version}
        print(f"{backend.device}, context {backend.info.origin}")
        torn = (
            torn_frames(backend, contexts, options.side, options.frames) if options.frames else []
        )
        for one in torn:
            print(f"{one.source}: {one.torn} of {one.frames} pictures torn, {one.steps} steps run")
        measured: list[Cost] = []
        for word in filter(None, options.works.split(",")):
            measured += costs(
                backend, contexts, word, options.batch, options.seconds, options.repeats
            )
        for cost in measured:
            print(
                f"{cost.work} batch {cost.batch}, {cost.tensor} ({cost.elements} elements), "
                f"{cost.looks}: {cost.alone_ms:.4f} ms a step alone, {cost.watched_ms:.4f} watched "
                f"({cost.slower:+.2%}), {cost.frames_per_second:.1f} pictures/s, "
                f"{cost.draw_ms:.4f} ms a picture"
            )
        backend.close()
    if options.json is not None:
        rows = [{**asdict(cost), "slower": cost.slower} for cost in measured]
        answer = {"facts": facts, "torn": [asdict(one) for one in torn], "costs": rows}
        options.json.write_text(json.dumps(answer, indent=1) + "\n", encoding="utf-8")
    wrong = [one.source for one in torn if bool(one.torn) != (one.source == "live buffer")]
    for source in wrong:
        print(f"not as it must be: {source}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
