"""Where indices lead, and what the elements brought to one place come to.

A tensor that is looked up in, or written to, is seen as [outer, keys, inner]: an index, or a tuple
of indices, names one of its keys.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.tensor import Shape
from studio.engine.cpu.memory.views import Anything, Floats, Ints, Views
from studio.engine.isa.instruction import Instruction

Keys: TypeAlias = npt.NDArray[np.int64]


class IndexPlaces:
    """The keys that the indices of an instruction name.

    Args:
        ins: a gather or scatter, or the gradient of one.
        views: where its operands are.

    Attributes:
        outer: entries of x in front of the keys.
        keys: how many keys there are.
        count: how many of them are named.
        inner: elements of an entry.
    """

    def __init__(self, ins: Instruction, views: Views) -> None:
        self._index: Ints = views.ints(ins.ref("i"))
        x, i = views.shape(ins.ref("x")), self._index.shape
        self.outer = self.inner = 1
        self._find: Callable[[], Keys]
        if ins.mnemonic.endswith("_ND"):
            self._batch = int(ins.value("batch")) if "batch" in ins.attrs else 0
            depth = self._batch + i[-1]
            self._sizes, self.inner = x[:depth], prod(x[depth:])
            self.keys, self.count = prod(self._sizes), prod(i[:-1])
            self._find = self._of_tuples
        elif ins.mnemonic.endswith("GATHER"):
            axis = ins.value("axis") % len(x)
            self.outer, self.inner = prod(x[:axis]), prod(x[axis + 1 :])
            self._sizes, self._batch = (x[axis],), 0
            self.keys, self.count = x[axis], prod(i)
            self._find = self._of_tuples
        else:
            self._axis = ins.value("axis") % len(x)
            self._base = _row_major(i, x, self._axis)
            views.own_bytes += self._base.nbytes
            self._sizes, self._stride = (x[self._axis],), prod(x[self._axis + 1 :])
            self.keys, self.count = prod(x), prod(i)
            self._find = self._of_elements

    def find(self) -> Keys:
        """The key of every index or tuple in turn, -1 where there is none."""
        return self._find()

    def seen(self, array: Anything) -> Anything:
        """A dense array of the shape of x, as [outer, keys, inner]."""
        return array.reshape(self.outer, self.keys, self.inner)

    def named(self, array: Anything) -> Anything:
        """A dense array of an entry for every index, as [outer, count, inner]."""
        return array.reshape(self.outer, self.count, self.inner)

    def _of_elements(self) -> Keys:
        row = self._index.reshape(-1).astype(np.int64)
        _count_from_end(row, self._sizes[0])
        found: Keys = self._base + row * self._stride
        found[row < 0] = -1
        return found

    def _of_tuples(self) -> Keys:
        wide = len(self._sizes) - self._batch
        tuples = self._index.reshape(self.count, wide)
        between = prod(self._index.shape[self._batch : -1]) if self._batch else self.count
        found: Keys = np.arange(self.count, dtype=np.int64) // max(between, 1)
        outside = np.zeros(self.count, np.bool_)
        for k, size in enumerate(self._sizes[self._batch :]):
            row = tuples[:, k].astype(np.int64)
            _count_from_end(row, size)
            outside |= row < 0
            found *= size
            found += row
        found[outside] = -1
        return found


def _count_from_end(row: Keys, size: int) -> None:
    """Make negative indices positive, and all that name nothing -1."""
    row[row < 0] += size
    row[(row < 0) | (row >= size)] = -1


def _row_major(shape: Shape, whole: Shape, axis: int) -> Keys:
    """For each element of ``shape`` its place in ``whole``, without that along the axis."""
    found = np.zeros(shape, np.int64)
    for d in range(len(shape)):
        if d != axis:
            steps = np.arange(shape[d], dtype=np.int64) * prod(whole[d + 1 :])
            found += steps.reshape(-1, *(1,) * (len(shape) - d - 1))
    return found.reshape(-1)


def add_by_key(keys: Keys, given: Floats, target: Floats, *, sets: bool) -> None:
    """Add entries up by their keys, in the order in which they stand, in double precision.

    Args:
        keys: the key of each entry, -1 for those left out.
        given: the entries [outer, count, inner].
        target: where sums go [outer, keys, inner].
        sets: whether sums replace what is there, 0 where no entry goes; otherwise they are added.
    """
    if sets:
        target.fill(0.0)
    inside = keys >= 0
    if not inside.all():
        keys, given = keys[inside], given[:, inside]
    if not keys.size:
        return
    if given.shape[0] == given.shape[2] == 1:
        flat = target.reshape(-1)
        flat += np.bincount(keys, given.reshape(-1), minlength=flat.size).astype(np.float32)
        return
    order = np.argsort(keys, kind="stable")
    ranked = keys[order]
    begins = np.flatnonzero(np.concatenate(([True], ranked[1:] != ranked[:-1])))
    sums = np.add.reduceat(given[:, order], begins, axis=1, dtype=np.float64)
    target[:, ranked[begins]] += sums.astype(np.float32)
