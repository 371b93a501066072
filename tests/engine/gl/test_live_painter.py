"""Drawing from snapshots in a second context: colours against NumPy, whole pictures only."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import pytest

from benchmarks.pixel_target import PixelTarget
from benchmarks.shared_egl import SharedEgl
from studio.engine.core.tensor import Ref, Role
from studio.engine.gl.backend import GlBackend
from studio.engine.gl.live.live import GlSnapshot
from studio.engine.gl.live.painter import PALETTE, SPECIAL, SheetPainter, Source, View
from studio.engine.gl.run.executable import GlExecutable
from studio.engine.gl.run.session import GlSession
from studio.engine.isa.program import Program
from studio.engine.runtime.live import StepClock, Tap
from studio.engine.runtime.live_sheet import Pick, Sheet
from tests.engine.gl.gl_programs import Lines
from tests.engine.gl.test_live import counting

pytestmark = pytest.mark.gl

T = TypeVar("T")

# Every entry differs from every other.
COLOURS = np.stack(
    [np.arange(PALETTE) % 256, np.arange(PALETTE) // 256 * 90 + 5, np.full(PALETTE, 77),
     np.full(PALETTE, 255)], axis=1,
).astype(np.uint8)  # fmt: skip


def special(name: str) -> int:
    return 256 + SPECIAL.index(name)


class Viewer:
    """A thread with the second context, a painter and a target."""

    def __init__(self, egl: SharedEgl, width: int = 64, height: int = 48) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="ThreadPoolExecutor-viewer")
        self._egl = egl
        self.size = width, height
        self.run(self._open)

    def run(self, work: Callable[[], T]) -> T:
        return self._pool.submit(work).result(60)

    def _open(self) -> None:
        self._context = self._egl.viewer()
        assert self._context.make_current()
        self.target = PixelTarget(self._context.load, *self.size)
        self.painter = SheetPainter(self._context.load)
        self.painter.set_palette(COLOURS)

    def picture(self, source: Source, view: View) -> np.ndarray:
        """The numbers of the colours, pixel by pixel."""

        def draw() -> np.ndarray:
            self.painter.draw(source, view, *self.size)
            return self.target.read()

        seen = self.run(draw).astype(int)
        return seen[..., 0] + 256 * (seen[..., 1] > 50)

    def raw(self, source: Source, view: View) -> np.ndarray:
        def draw() -> np.ndarray:
            self.painter.draw(source, view, *self.size)
            return self.target.read()

        return self.run(draw)

    def close(self) -> None:
        def end() -> None:
            self.painter.release()
            self.target.release()
            self._context.release()

        self.run(end)
        self._pool.shutdown()


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[GlBackend, SharedEgl]]:
    egl = SharedEgl()
    backend = GlBackend(egl)
    yield backend, egl
    backend.close()


@pytest.fixture
def viewer(shared: tuple[GlBackend, SharedEgl]) -> Iterator[Viewer]:
    made = Viewer(shared[1])
    yield made
    made.close()


def captured(backend: GlBackend, values: np.ndarray) -> GlSnapshot:
    lines = Lines()
    kept = lines.kept("kept", values.shape)
    copy = lines.made("copy", values.shape)
    lines.add("forward", "COPY", x=kept, y=copy)
    session = backend.open_session()
    executable = backend.compile(lines.program(copy), session, 1)
    session.write("kept", values)
    tap = session.tap("kept")
    executable.attach(tap, StepClock())
    tap.request()
    executable.run()
    found = tap.take()
    assert isinstance(found, GlSnapshot)
    found.keep()
    executable.close()
    session.close()
    tap.close()
    return found


def whole(shape: tuple[int, ...], **axes: int | tuple[int, int]) -> Sheet:
    return Sheet(shape, tuple(Pick(0, 1, size) for size in shape), **axes)  # type: ignore[arg-type]


def shades(values: np.ndarray, low: float, high: float) -> np.ndarray:
    share = (values.astype(np.float64) - low) / (high - low)
    return np.clip(np.floor(share * 255 + 0.5), 0, 255).astype(int)


def test_cells_have_the_colours_of_their_values(
    shared: tuple[GlBackend, SharedEgl], viewer: Viewer, rng: np.random.Generator
) -> None:
    values = rng.uniform(-1, 1, (9, 14)).astype(np.float32)
    snapshot = captured(shared[0], values)
    view = View(whole(values.shape, rows=0, columns=1), left=3, top=5, cell=(4, 4), low=-1, high=1)
    picture = viewer.picture(Source.of(snapshot), view)
    centres = picture[5 + 2 : 5 + 36 : 4, 3 + 2 : 3 + 56 : 4]
    assert np.abs(centres - shades(values, -1, 1)).max() <= 1
    outside = picture.copy()
    outside[5 : 5 + 36, 3 : 3 + 56] = special("empty")
    assert (outside == special("empty")).all()
    snapshot.release()


def test_a_range_wider_than_float32_has_all_its_colours(
    shared: tuple[GlBackend, SharedEgl], viewer: Viewer
) -> None:
    values = np.linspace(-3e38, 3e38, 28).reshape(2, 14).astype(np.float32)
    snapshot = captured(shared[0], values)
    view = View(whole(values.shape, rows=0, columns=1), cell=(2, 2), low=-3e38, high=3e38)
    cells = viewer.picture(Source.of(snapshot), view)[1:4:2, 1:28:2]
    assert np.abs(cells - shades(values, -3e38, 3e38)).max() <= 1
    snapshot.release()


def test_tiles_stand_side_by_side_with_gaps(
    shared: tuple[GlBackend, SharedEgl], viewer: Viewer
) -> None:
    values = np.arange(5 * 2 * 3, dtype=np.float32).reshape(5, 2, 3)
    snapshot = captured(shared[0], values)
    view = View(
        whole(values.shape, tiles=0, rows=1, columns=2), across=3, gap=1, cell=(2, 2),
        low=0, high=255,
    )  # fmt: skip
    cells = viewer.picture(Source.of(snapshot), view)[::2, ::2]
    wanted = np.full((24, 32), special("empty"))
    for tile in range(5):
        top, left = 3 * (tile // 3), 4 * (tile % 3)
        wanted[top : top + 2, left : left + 3] = values[tile]
    np.testing.assert_array_equal(cells, wanted)
    snapshot.release()


def test_numbers_that_are_none_are_never_hidden(
    shared: tuple[GlBackend, SharedEgl], viewer: Viewer
) -> None:
    values = np.array([[np.nan, np.inf, -np.inf, 9.0, -9.0, 0.5]], np.float32)
    snapshot = captured(shared[0], values)
    source = Source.of(snapshot)
    sheet = whole(values.shape, rows=0, columns=1)
    small = viewer.picture(source, View(sheet, cell=(2, 2), low=0, high=1))
    names = [special(name) for name in ("nan", "plus", "minus", "over", "under")]
    np.testing.assert_array_equal(small[0, :12:2], [*names, 128])
    large = viewer.picture(source, View(sheet, cell=(8, 8), low=0, high=1))[:8]
    cells = [large[:, 8 * k : 8 * k + 8] for k in range(6)]
    assert set(np.unique(cells[0])) == {special("nan"), special("stripe")}
    up, down = cells[1] == special("plus"), cells[2] == special("minus")
    assert set(np.unique(cells[1])) == {special("plus"), special("ground")}
    assert (np.diff(up.sum(1)) >= 0).all()
    assert up[0].sum() < up[-1].sum()
    np.testing.assert_array_equal(down, up[::-1])
    assert set(np.unique(cells[3])) == {special("over"), 255}
    assert cells[3][0, 0] == special("over")
    assert set(np.unique(cells[4])) == {special("under"), 0}
    snapshot.release()


def test_a_bad_element_shows_in_the_cell_of_many(
    shared: tuple[GlBackend, SharedEgl], viewer: Viewer
) -> None:
    values = np.zeros((40, 40), np.float32)
    values[0, 1], values[11, 25], values[30, 5], values[39, 39] = 0.5, np.nan, -0.75, np.inf
    snapshot = captured(shared[0], values)
    sheet = whole(values.shape, rows=0, columns=1, block=(10, 10))
    view = View(sheet, low=-1, high=1, choice=0)
    cells = viewer.picture(Source.of(snapshot), view)[:4, :4]
    wanted = np.full((4, 4), 128)
    wanted[0, 0], wanted[1, 2], wanted[3, 0] = 191, special("nan"), 32
    wanted[3, 3] = special("plus")
    np.testing.assert_array_equal(cells, wanted)
    least = viewer.picture(Source.of(snapshot), View(sheet, low=-1, high=1, choice=2))
    greatest = viewer.picture(Source.of(snapshot), View(sheet, low=-1, high=1, choice=1))
    assert (least[0, 0], least[3, 0], greatest[0, 0], greatest[3, 0]) == (128, 32, 191, 128)
    snapshot.release()


def test_three_channels_are_colours(
    shared: tuple[GlBackend, SharedEgl], viewer: Viewer, rng: np.random.Generator
) -> None:
    values = rng.integers(0, 256, (6, 7, 3)).astype(np.float32)
    snapshot = captured(shared[0], values)
    sheet = whole(values.shape, rows=0, columns=1, channels=2)
    picture = viewer.raw(Source.of(snapshot), View(sheet, low=0, high=255))
    np.testing.assert_array_equal(picture[:6, :7, :3], values)
    assert (picture[:6, :7, 3] == 255).all()
    snapshot.release()


BANDS = 10


def banded(shape: tuple[int, int]) -> Program:
    """As ``counting``, but written band by band, by a dispatch each."""
    lines = Lines()
    band = (shape[0] // BANDS, shape[1])
    part = lines.kept("part", band)
    one = lines.builder.tensor("one", (1,), role=Role.CONST, value=(1.0,))
    more = lines.made("more", band)
    count = lines.kept("count", shape)
    lines.add("forward", "ADD", x1=part, x2=one, y=more)
    lines.add("forward", "CONCAT", xs=(more,) * BANDS, y=count, axis=0)
    lines.add("update", "COPY", x=more, y=part)
    return lines.program(more)


def stepping(
    backend: GlBackend, program: Program
) -> tuple[GlSession, GlExecutable, Tap, threading.Event]:
    session = backend.open_session()
    executable = backend.compile(program, session, 1)
    there = threading.Event()
    tap = session.tap("count", ready=there.set)
    executable.attach(tap, StepClock())
    return session, executable, tap, there


@pytest.mark.slow
def test_drawing_from_snapshots_never_tears_and_from_the_live_buffer_does(
    shared: tuple[GlBackend, SharedEgl],
) -> None:
    backend, egl = shared
    viewer = Viewer(egl, 200, 150)
    # A device's step must take a while, or nobody ever looks in the middle of it.
    shape = (300, 400) if backend.info.is_software else (6000, 8000)
    session, executable, tap, there = stepping(backend, banded(shape))
    stop = threading.Event()
    ref = Ref(executable.program.tensors.named("count").id)
    where = backend.work.engine.call(executable._storages.where, ref)
    live = Source(
        where.buffer.name, where.offset, where.nbytes, executable._storages.descriptor(ref)
    )  # fmt: skip

    def work() -> None:
        while not stop.is_set():
            executable.run(10, stop.is_set)

    thread = threading.Thread(target=work)
    thread.start()
    sheet = whole(shape, rows=0, columns=1, block=(shape[0] // 150, shape[1] // 200))
    torn, saw_torn = 0, False
    try:
        for _ in range(40):
            tap.request()
            assert there.wait(30)
            there.clear()
            snapshot = tap.take()
            assert isinstance(snapshot, GlSnapshot)
            step = snapshot.moment.step
            picture = viewer.picture(Source.of(snapshot), View(sheet, low=step - 128,
                                                               high=step + 127))  # fmt: skip
            torn += len(np.unique(picture)) > 1
            assert picture[0, 0] == 128
            snapshot.drawn(viewer.run(viewer.painter.fence))
            snapshot.release()
        for _ in range(500):
            step = executable._board.clock.step
            picture = viewer.picture(live, View(sheet, low=step - 128, high=step + 127))
            saw_torn = saw_torn or len(np.unique(picture)) > 1
            if saw_torn:
                break
    finally:
        stop.set()
        thread.join()
        viewer.close()
        tap.close()
        executable.close()
        session.close()
    assert torn == 0
    assert saw_torn


@pytest.mark.slow
def test_nothing_but_the_statistics_block_is_read_back(
    shared: tuple[GlBackend, SharedEgl], viewer: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from studio.engine.gl.live import live

    backend, _ = shared
    session, executable, tap, there = stepping(backend, counting((512, 512)))
    read: list[int] = []
    original = live.PendingRead

    def counted(pool: object, source: object) -> object:
        read.append(source.nbytes)  # type: ignore[attr-defined]
        return original(pool, source)  # type: ignore[arg-type]

    monkeypatch.setattr(live, "PendingRead", counted)
    sheet = whole((512, 512), rows=0, columns=1, block=(12, 12))
    pixels = 0
    for refresh in range(1000):
        tap.request()
        executable.run()
        assert there.wait(30)
        there.clear()
        snapshot = tap.take()
        assert isinstance(snapshot, GlSnapshot)
        view = View(sheet, low=0, high=1000)
        if refresh % 100 == 0:
            pixels += viewer.picture(Source.of(snapshot), view).size
        else:
            viewer.run(lambda s=snapshot, v=view: viewer.painter.draw(Source.of(s), v, 64, 48))
        if refresh % 10 == 0:
            assert snapshot.render().statistics is not None
        snapshot.drawn(viewer.run(viewer.painter.fence))
        snapshot.release()
    assert len(read) == 100
    assert set(read) == {416}
    tap.close()
    executable.close()
    session.close()


def test_a_shader_the_driver_refuses_is_told_in_a_sentence(
    shared: tuple[GlBackend, SharedEgl], viewer: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from studio.engine.core.errors import BackendError
    from studio.engine.gl.live import painter as live_painter

    monkeypatch.setattr(live_painter, "_fragment_text", lambda: "#version 430\nvoid main() { x; }")
    with pytest.raises(BackendError, match="refuses the shader"):
        viewer.run(lambda: SheetPainter(viewer._context.load))


def test_the_second_context_comes_after_the_first() -> None:
    from studio.engine.core.errors import BackendError

    with pytest.raises(BackendError, match="comes first"):
        SharedEgl().viewer()
