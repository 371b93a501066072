"""Memory: scopes that forget what was made inside, and counts of what there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, overload
from weakref import ref

from studio.engine.ops import recording
from studio.engine.ops.handle import Tensor, Variable
from studio.engine.ops.patterns import TYPES
from studio.engine.ops.recording import LIVE, STATE, TRACES, Scope

T = TypeVar("T")


_KEPT: dict[int, ref[Tensor]] = {}
"""Tensors that outlive their scopes, by identity: tensors compare by their numbers."""


class Tidy:
    """A scope: at its end the tensors made inside are disposed of, but those that were kept.

    Variables stay. A tensor that is to be used behind the scope is given to ``keep``.
    """

    def __enter__(self) -> Tidy:
        STATE.scopes.append(Scope(len(STATE.trace.handles)))
        return self

    def __exit__(self, *error: object) -> None:
        _close(())


@overload
def tidy() -> Tidy: ...
@overload
def tidy(function: Callable[[], T]) -> T: ...
def tidy(function: Callable[[], T] | None = None) -> T | Tidy:
    """Forget what is made inside: ``with tidy():``, or a function whose results stay.

    Args:
        function: takes nothing. Tensors it returns, alone or in lists and dictionaries, stay and
            belong to the scope around.
    """
    if function is None:
        return Tidy()
    STATE.scopes.append(Scope(len(STATE.trace.handles)))
    result: Any = ()
    try:
        made = function()
        result = made
        return made
    finally:
        _close(result)


def keep(tensor: T) -> T:
    """Let a tensor, or those in a list or dictionary, outlive all scopes; returns it."""
    for each in tensors_in(tensor):
        key = id(each)
        _KEPT[key] = ref(each, partial(_left, key))
    return tensor


def _left(key: int, _: object) -> None:
    _KEPT.pop(key, None)


def dispose(given: Any) -> None:
    """Give back the memory of a tensor, or of those in a list or dictionary, now."""
    for each in tensors_in(given):
        each.dispose()


def tensors_in(given: Any) -> Iterator[Tensor]:
    """The tensors in something, whatever lists, tuples and dictionaries are round them."""
    if isinstance(given, Tensor):
        yield given
    elif isinstance(given, Mapping):
        for value in given.values():
            yield from tensors_in(value)
    elif isinstance(given, list | tuple | set):
        for value in given:
            yield from tensors_in(value)


def _close(results: Any) -> None:
    """End the innermost scope."""
    scope = STATE.scopes.pop()
    staying = {id(each) for each in tensors_in(results)}
    around = STATE.scopes[-1] if STATE.scopes else None
    for handle in (*scope.made, *STATE.trace.handles[scope.start :]):
        tensor = handle()
        if tensor is None or isinstance(tensor, Variable) or id(tensor) in _KEPT:
            continue
        if id(tensor) not in staying:
            tensor.dispose()
        elif around is not None and tensor._trace is not STATE.trace:
            around.made.append(ref(tensor))


@dataclass(frozen=True)
class Memory:
    """What is there now.

    Attributes:
        tensors: tensors that were not disposed of, variables included.
        bytes: of their numbers.
        waiting: those among them that have no numbers yet.
        device_bytes: bytes the device holds for values, programs and reuse.
        buffers: buffers alive on the device.
        peak_bytes: most bytes the device ever held at once.
    """

    tensors: int
    bytes: int
    waiting: int
    device_bytes: int
    buffers: int
    peak_bytes: int


def memory() -> Memory:
    """How many tensors there are, and how many bytes they and the device hold."""
    device = recording.runner()
    device.settle()
    found: dict[int, Tensor] = {}
    waiting = 0
    for handle in tuple(LIVE.values()):
        tensor = handle()
        if tensor is not None:
            found[id(tensor)] = tensor
    for held in tuple(TRACES):
        trace = held.trace
        for tensor in trace.shown():
            if tensor._trace is trace and id(tensor) not in found:
                found[id(tensor)] = tensor
                waiting += 1
    nbytes = sum(TYPES[t._kind].numel * TYPES[t._kind].dtype.itemsize for t in found.values())
    held_now = device.backend.memory()
    return Memory(
        len(found), nbytes, waiting,
        held_now.persistent_bytes + held_now.transient_bytes + held_now.pooled_bytes,
        held_now.buffers, held_now.peak_bytes,
    )  # fmt: skip
