"""A stable sort by whole numbers, and how values are joined one after another.

The sort goes by four bits of the keys at a time, the lowest first (a radix sort): digits are
counted by blocks, counts become places, and each element goes to its place behind those before it.
No step depends on the order in which work groups run, so that neither do the sums of runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from studio.engine.gl.kernels.specs import DispatchSpec
from studio.engine.gl.shader.dispatch import groups_for

LINE = 64
"""Invocations of a work group where each has a line or an element of its own."""
DIGIT_BITS = 4
KEY_PASSES = 8
"""Passes of a key of 32 bits."""
_DIGITS = 1 << DIGIT_BITS
_LOCAL = 256
_BLOCK = 16 * _LOCAL
"""Elements of a block, as ``sorted_places.glsl`` has it."""

Macros: TypeAlias = dict[str, int | str]


def sort_room(count: int) -> int:
    """Words of scratch storage that a sort needs: keys, two lists of places, and counts."""
    return 3 * count + _DIGITS * groups_for(count, _BLOCK)


def passes_for(most: int) -> int:
    """Passes after which keys up to ``most`` are in order."""
    return max(1, groups_for(most.bit_length(), DIGIT_BITS))


def sorted_list(passes: int) -> int:
    """Which of the two lists the places are in after so many passes."""
    return 1 + passes % 2


def sorted_places(
    count: int, passes: range, room: int, *, length: int = 0
) -> tuple[DispatchSpec, ...]:
    """The passes of a sort; keys and places stand in scratch storage.

    Args:
        count: places sorted.
        passes: which digits, the lowest first.
        room: words of scratch storage, for all that use it.
        length: of a line; digits from ``KEY_PASSES`` on are those of the line a place is in.
    """
    blocks = (groups_for(count, _BLOCK), 1, 1)
    found = []
    for number in passes:
        for kernel, groups in (
            ("sort_count", blocks), ("sort_scan", (1, 1, 1)), ("sort_place", blocks),
        ):  # fmt: skip
            found.append(
                DispatchSpec(
                    kernel,
                    groups=groups,
                    local=(_LOCAL, 1, 1),
                    defines={} if kernel == "sort_scan" else {"SORT_LENGTH": length},
                    launch=(count, number),
                    scratch=room,
                    scratch_ints=True,
                )
            )
    return tuple(found)


_CHUNK = {True: 128, False: 1024}
"""Places in a chunk, for few and for many places."""
_FEW = 1 << 16


def sorted_runs(
    count: int, keys: int, width: int, find: DispatchSpec, join: DispatchSpec, last: DispatchSpec
) -> tuple[DispatchSpec, ...]:
    """Sort places by their keys, then join each run of one key.

    The dispatches given say kernel, result, bindings and macros; the rest is filled in.

    Args:
        count: places.
        keys: how many keys there are; a place of no key has ``keys`` itself.
        width: numbers that a chunk of one key comes to.
        find: stores the keys.
        join: joins the whole chunks of one key, a number each invocation.
        last: the value kernel that goes through the runs.
    """
    chunk = _CHUNK[count <= _FEW]
    passes = passes_for(keys)
    chunks = groups_for(count, chunk) * width
    room = sort_room(count) + keys + chunks
    scratch: dict[str, Any] = {"launch": (count, keys), "scratch": room, "scratch_ints": True}
    runs: Macros = {"SORTED": sorted_list(passes), "CHUNK": chunk}

    def lines(count: int) -> tuple[int, int, int]:
        return (groups_for(count, LINE), 1, 1)

    return (
        replace(find, groups=lines(max(count, keys)), **scratch),
        *sorted_places(count, range(passes), room),
        DispatchSpec("index_firsts", groups=lines(count), defines=runs, **scratch),
        replace(join, groups=lines(chunks), defines={**runs, **join.defines}, **scratch),
        replace(last, defines={**runs, **last.defines}, **scratch),
    )


_JOINS: Mapping[str, tuple[str, str]] = {
    "sum": ("0", "((a) + (b))"),
    "prod": ("1", "((a) * (b))"),
    "max": ("(-INFINITE)", "larger(a, b)"),
    "min": ("INFINITE", "smaller(a, b)"),
}
_WHOLE_BEGINS = {"max": "(-2147483647 - 1)", "min": "2147483647"}
_LONG_SUM: Mapping[str, str] = {
    "RUN": "LongSum",
    "BEGIN": "LongSum(0.0, 0.0)",
    "JOIN(a, b)": "plus(a, b)",
    "VALUE(a)": "whole(a)",
}


def joins(name: str, kind: str) -> Macros:
    """The macros by which one value after another joins what ran before.

    ``RUN`` is the type of what runs, ``BEGIN`` what it is before the first, ``JOIN`` takes one more
    and ``VALUE`` reads it. Sums of floats keep their digits (``long_sum.glsl``). ``TERM`` is the
    type of an element, ``NOTHING`` what changes none, and ``BOTH`` joins two.

    Args:
        name: sum, prod, max or min.
        kind: float or int.
    """
    begin, join = _JOINS[name]
    if kind == "int":
        begin = _WHOLE_BEGINS.get(name, begin)
    elif begin.isdigit():
        begin += ".0"
    found: Macros = {"TERM": kind, "NOTHING": begin, "BOTH(a, b)": join}
    if name == "sum" and kind == "float":
        return {**found, **_LONG_SUM}
    return {**found, "RUN": kind, "BEGIN": begin, "JOIN(a, b)": join, "VALUE(a)": "(a)"}
