"""Statistics and tiles of a snapshot, made on the device by a few small dispatches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from studio.engine.core.dtypes import DType
from studio.engine.gl.device import constants as const
from studio.engine.gl.device.device import SLICE_ALIGNMENT
from studio.engine.gl.glsl.files import load
from studio.engine.gl.record.bindings import BoundSlices
from studio.engine.gl.shader.dispatch import groups_for, split_line
from studio.engine.gl.shader.source import KernelSource, assemble
from studio.engine.runtime.live import Rendered
from studio.engine.runtime.live_sheet import Sheet, Tile
from studio.engine.runtime.live_statistics import BINS, Statistics

if TYPE_CHECKING:
    from studio.engine.core.descriptor import ShapeDescriptor
    from studio.engine.gl.device.buffers import PoolBuffer, Slice
    from studio.engine.gl.record.device_work import DeviceWork

_LOCAL = 64
_FOLDED = 64
"""Parts one invocation joins."""
_PART = 12
_SUMS, _SPREAD, _BINS, _SCALE, _STATISTICS = 12, 24, 36, 100, 104
"""Words where the parts of the rounds begin, and how many words statistics take in all."""
_NUMBERS = 24
_SOFTWARE_THREADS, _HARDWARE_THREADS = 1024, 1 << 16

Words = npt.NDArray[np.uint32]
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class _Pass:
    """One dispatch: the kernel, how many invocations, and the numbers it reads."""

    source: KernelSource
    threads: int
    numbers: tuple[int, ...]


@cache
def _kernel(name: str) -> KernelSource:
    text = load("live", f"{name}.glsl")
    if name != "tile":
        text = load("live", "elements.glsl") + text
    return assemble(f"live_{name}", text, [], local=(_LOCAL, 1, 1))


@dataclass(frozen=True)
class Order:
    """What to compute from a snapshot, and where it is in the words that come back.

    Attributes:
        descriptor: how the tensor lies in its snapshot.
        sheets: tiles to make.
        statistics: whether to make statistics too.
    """

    descriptor: ShapeDescriptor
    sheets: tuple[Sheet, ...]
    statistics: bool

    @property
    def words(self) -> int:
        """Words that come back."""
        return (_STATISTICS if self.statistics else 0) + sum(
            _words_of(self.descriptor, sheet) for sheet in self.sheets
        )

    def read(self, raw: npt.NDArray[np.uint8]) -> Rendered:
        """What the words say."""
        words = raw.view(np.uint32)
        at = _STATISTICS if self.statistics else 0
        found = _statistics(self.descriptor, words) if self.statistics else None
        tiles: dict[Sheet, Tile] = {}
        for sheet in self.sheets:
            length = _words_of(self.descriptor, sheet)
            tiles[sheet] = _tile(self.descriptor, sheet, words[at : at + length])
            at += length
        return Rendered(found, tiles)


def issue_order(work: DeviceWork, source: Slice, order: Order) -> PoolBuffer:
    """Queue the dispatches of an order; on the engine thread, without waiting.

    Args:
        work: the device.
        source: the snapshot.
        order: what to make.

    Returns:
        The buffer that begins with the order's words; the caller gives it back.
    """
    software = work.engine.info.is_software
    threads = _threads(order.descriptor.numel, software) if order.statistics else 0
    made = work.pool.acquire(4 * (order.words + _room_for_parts(threads)), "pictures of a tensor")
    passes: list[_Pass] = []
    at = 0
    if order.statistics:
        passes += _statistics_passes(order.descriptor, threads, order.words)
        at = _STATISTICS
    for sheet in order.sheets:
        passes.append(_tile_pass(order.descriptor, sheet, at))
        at += _words_of(order.descriptor, sheet)
    _issue(work, source, made, [one for one in passes if one.threads])
    return made


def _issue(work: DeviceWork, source: Slice, made: PoolBuffer, passes: Sequence[_Pass]) -> None:
    if not passes:
        return
    gl, pool = work.gl, work.pool
    step = work.engine.info.slice_alignment
    rows = np.zeros((len(passes), step // 4), np.int32)
    for row, one in zip(rows, passes, strict=True):
        row[: len(one.numbers)] = one.numbers
    numbers = pool.acquire(rows.nbytes, "numbers of pictures")
    pool.upload(numbers.slice(), rows.reshape(-1))
    words = max(4, -(-source.nbytes // 4) * 4)
    ranges = (source.buffer.slice(source.offset, words), made.slice())
    for place, one in enumerate(passes):
        slices = (*ranges, numbers.slice(place * step, 4 * _NUMBERS))
        gl.memory_barrier(const.SHADER_STORAGE_BARRIER_BIT)
        gl.use_program(work.compiled(one.source))
        BoundSlices(gl, slices, alignment=SLICE_ALIGNMENT).bind()
        gl.dispatch_compute(*split_line(groups_for(one.threads, _LOCAL)))
    pool.release(numbers)
    gl.check("drawing a tensor")


def _threads(numel: int, software: bool) -> int:
    """Invocations that look at elements, each at several, in whole groups."""
    most = _SOFTWARE_THREADS if software else _HARDWARE_THREADS
    wanted = min(most, -(-numel // 16))
    return max(_LOCAL, -(-wanted // _LOCAL) * _LOCAL)


def _room_for_parts(threads: int) -> int:
    """Words of all parts: those of the invocations, and of every round of folding."""
    total, count = 0, threads
    while count:
        total += count * _PART
        count = 0 if count == 1 else -(-count // _FOLDED)
    return total


def _statistics_passes(descriptor: ShapeDescriptor, threads: int, parts: int) -> list[_Pass]:
    """Range and counts, then sums about the middle, then spread and histogram."""
    head = [0] * _NUMBERS
    head[0], head[1], head[2] = descriptor.dtype.code, descriptor.numel, descriptor.rank
    head[3], head[4], head[5], head[6] = descriptor.offset, descriptor.is_dense, threads, parts
    head[8 : 8 + descriptor.rank] = descriptor.shape
    head[16 : 16 + descriptor.rank] = descriptor.strides
    passes: list[_Pass] = []
    for kernel, word, result in (
        ("scan", _BINS, 0), ("sums", 0, _SUMS), ("sums", 1, _SPREAD),
    ):  # fmt: skip
        head[7] = word
        passes.append(_Pass(_kernel(kernel), threads, tuple(head)))
        passes += _folds(threads, parts, result)
    return passes


def _folds(count: int, parts: int, result: int) -> list[_Pass]:
    """Rounds that join all parts into the one at word ``result``."""
    found: list[_Pass] = []
    begin = parts
    while count > 1 or not found:
        left = -(-count // _FOLDED)
        into = result if left == 1 else begin + count * _PART
        found.append(_Pass(_kernel("fold"), left, (0, count, 0, 0, 0, left, begin, into)))
        begin, count = into, left
    return found


def _tile_pass(descriptor: ShapeDescriptor, sheet: Sheet, into: int) -> _Pass:
    walk = sheet.walk(descriptor.strides, descriptor.offset)
    numbers = [descriptor.dtype.code, walk.base, int(sheet.exact), into]
    for run in (walk.tiles, walk.rows, walk.columns, walk.channels):
        numbers += [run.count, run.stride]
    return _Pass(_kernel("tile"), prod(walk.cells), (*numbers, *walk.block))


def _words_of(descriptor: ShapeDescriptor, sheet: Sheet) -> int:
    cells = prod(sheet.walk(descriptor.strides).cells)
    return cells if sheet.exact else 3 * cells


def _tile(descriptor: ShapeDescriptor, sheet: Sheet, words: Words) -> Tile:
    cells = sheet.walk(descriptor.strides).cells
    if sheet.exact:
        return Tile.of_values(sheet, elements_of(descriptor.dtype, words).reshape(cells))
    grouped = words.reshape((*cells, 3))
    floats = np.ascontiguousarray(grouped[..., :2]).view(np.float32)
    return Tile(
        sheet, None, floats[..., 0].copy(), floats[..., 1].copy(), grouped[..., 2].astype(np.uint8)
    )


def elements_of(dtype: DType, words: Words) -> Array:
    """Elements whose bits are the low ends of words."""
    if dtype is DType.float32 or dtype is DType.int32:
        return words.view(dtype.np).copy()
    if dtype is DType.float16:
        return words.astype(np.uint16).view(np.float16)
    return words.astype(dtype.np)


def _statistics(descriptor: ShapeDescriptor, words: Words) -> Statistics:
    floats, whole = words.view(np.float32).astype(np.float64), words.view(np.int32)
    nans, plus, minus, zeros, finite = (int(n) for n in words[:5])
    count = descriptor.numel
    if not finite:
        none = float("nan")
        return Statistics(count, nans, plus, minus, zeros, none, none, none, none, (0,) * BINS)
    is_whole = descriptor.dtype not in (DType.float32, DType.float16)
    low, high = (float(whole[k]) if is_whole else float(floats[k - 2]) for k in (7, 8))
    centre, reach = floats[_SCALE], floats[_SCALE + 1]
    # The device rounds the middle to float32, the ends are exact.
    mean = min(max(centre + reach * (floats[_SUMS + 9] + floats[_SUMS + 10]) / finite, low), high)
    spread = (floats[_SPREAD + 9] + floats[_SPREAD + 10]) / finite
    bins = tuple(int(n) for n in words[_BINS : _BINS + BINS])
    std = float(reach * np.sqrt(max(spread, 0.0)))
    return Statistics(count, nans, plus, minus, zeros, low, high, float(mean), std, bins)
