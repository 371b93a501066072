"""Which bytes of an arena are taken from which instruction to which: finds free gaps quickly.

The instructions are the leaves of a binary tree. What is taken over a span of instructions is
noted at the few nodes that make the span up, and at the nodes above those; stretches that touch
are joined. A span is asked about at just as few nodes, so that placing many storages takes little
more than in proportion to how many there are, however many are needed at once.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from studio.engine.compiler.lifetimes import Span

Stretches = list[int]
"""Disjoint stretches of bytes in order: first byte, byte behind, first byte, byte behind, …"""


class TakenBytes:
    """What is taken of an arena.

    Args:
        length: number of instructions.
        alignment: storages begin at multiples of it.
        part: no storage lies across a multiple of this, itself a multiple of the alignment.
    """

    def __init__(self, length: int, alignment: int, part: int) -> None:
        self._leaves = 1 << max(length - 1, 0).bit_length()
        self._alignment = alignment
        self._part = part
        # By node: taken over all instructions below it, and over some of them or all.
        self._over_all: dict[int, Stretches] = {}
        self._over_some: dict[int, Stretches] = {}

    def place(self, span: Span, nbytes: int) -> int:
        """Take the smallest gap free over a span that holds ``nbytes``, or what is behind all.

        Returns its offset; the lowest of several gaps of one size. A gap ends with its part.
        """
        parts = self._parts(span)
        above = _above(parts)
        offset = self._best_gap(self._taken(parts, above), nbytes)
        end = -(-(offset + nbytes) // self._alignment) * self._alignment
        for node in parts:
            _join(self._over_all.setdefault(node, []), offset, end)
            _join(self._over_some.setdefault(node, []), offset, end)
        for node in above:
            _join(self._over_some.setdefault(node, []), offset, end)
        return offset

    def _best_gap(self, taken: list[tuple[int, int]], nbytes: int) -> int:
        best, room = -1, 0
        free = 0
        for begin, end in taken:
            at = free
            while begin - at >= nbytes:
                seam = at - at % self._part + self._part
                gap = min(begin, seam) - at
                if gap >= nbytes and (best < 0 or gap < room):
                    best, room = at, gap
                at = seam
            if end > free:
                free = end
        if best >= 0:
            return best
        left = self._part - free % self._part
        return free if nbytes <= left else free + left

    def _taken(self, parts: list[int], above: set[int]) -> list[tuple[int, int]]:
        """What is taken over any part of a span, by first byte; stretches may overlap."""
        noted = [self._over_some[node] for node in parts if node in self._over_some]
        noted += [self._over_all[node] for node in above if node in self._over_all]
        pairs = [pair for each in noted for pair in zip(each[::2], each[1::2], strict=True)]
        pairs.sort()
        return pairs

    def _parts(self, span: Span) -> list[int]:
        """The nodes that make a span up: node 1 stands for all, 2n and 2n + 1 for halves of n."""
        low, high = span.first + self._leaves, span.last + self._leaves + 1
        found = []
        while low < high:
            if low & 1:
                found.append(low)
                low += 1
            if high & 1:
                high -= 1
                found.append(high)
            low >>= 1
            high >>= 1
        return found


def _above(nodes: list[int]) -> set[int]:
    """The nodes on the ways from some nodes up to the root, without those themselves."""
    found: set[int] = set()
    for node in nodes:
        each = node >> 1
        while each and each not in found:
            found.add(each)
            each >>= 1
    return found


def _join(stretches: Stretches, begin: int, end: int) -> None:
    """Add a stretch, joined with those it touches."""
    first, last = bisect_left(stretches, begin), bisect_right(stretches, end)
    # At an even place the byte is outside of every stretch: there a new one begins, or ends.
    stretches[first:last] = [begin] * (first % 2 == 0) + [end] * (last % 2 == 0)
