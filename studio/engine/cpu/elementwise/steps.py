"""A graph of operations as NumPy calls that write into preallocated memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from studio.engine.cpu.elementwise.graph import Graph, Node, Operand, Operation, Scalar
from studio.engine.cpu.memory.views import Anything
from studio.engine.formula.kinds import Kind
from studio.engine.formula.tree import Expression, Number

DTYPES: Mapping[Kind, type[np.generic]] = {
    Kind.FLOAT: np.float32,
    Kind.INT: np.int32,
    Kind.BOOL: np.bool_,
}
"""What values of a kind are computed as."""


class Place(NamedTuple):
    """Where a value lies: an ``operand``, a ``target``, working memory or a ``scalar``.

    Working memory is ``word``, of four bytes an element, or ``mask``, of one.
    """

    sort: str
    key: str | int


class Cell(NamedTuple):
    """A value that is the same for all elements, and the kind it is stored as."""

    expression: Expression
    kind: Kind


@dataclass(frozen=True)
class Step:
    """One NumPy call.

    Attributes:
        function: its name; see `call_of`.
        inputs: places in order, with the kind each is read as; ``ANY`` as it is stored.
        output: where its result goes.
        kind: of the result.
        bits: floats are taken as whole numbers of the same bits.
    """

    function: str
    inputs: tuple[tuple[Place, Kind], ...]
    output: Place
    kind: Kind
    bits: bool = False


@dataclass(frozen=True)
class Plan:
    """The calls that make all results.

    Attributes:
        steps: in order.
        words: working memories of four bytes an element.
        masks: working memories of one.
        cells: what the places ``scalar`` hold.
    """

    steps: tuple[Step, ...]
    words: int
    masks: int
    cells: tuple[Cell, ...]


COPIES = frozenset({"load", "cast", "store"})
"""Steps that copy, with a conversion where kinds differ."""


def keep(values: Anything, mask: Anything, out: Anything) -> None:
    """``out`` = values where the mask is set, else 0, even for NaN or infinite values.

    Multiplying the bits as integers avoids branches, and a masked infinity gives 0, not NaN.
    """
    np.multiply(values.view(np.int32), mask, out=out.view(np.int32))


def call_of(function: str) -> Callable[..., object]:
    """The NumPy function of a step that is no copy; it takes its inputs and ``out``."""
    found: Callable[..., object] = getattr(np, {"keep": "multiply"}.get(function, function))
    return found


def plan_steps(
    graph: Graph, targets: Mapping[str, Kind | None], overlaps: Mapping[str, frozenset[str]]
) -> Plan:
    """The calls for a graph with as little working memory as its order allows.

    A target takes its final value, or serves as working memory, only after the last read of every
    operand that lies in the same memory.

    Args:
        graph: what is computed.
        targets: by name, the kind a target stores without conversion; ``None`` where it converts.
        overlaps: by target, the operands whose memory it may share.
    """
    steps: list[Operation] = []
    finals: list[tuple[str, Node]] = []
    lowered: dict[Node, Node] = {}
    weights: dict[Node, int] = {}
    ordered: set[Node] = set()
    for name, given in graph.results:
        node = _lowered(given, lowered)
        if targets[name] is not node.kind or not isinstance(node, Operation) or node in ordered:
            if isinstance(node, Operation) and node.function == "load":
                node = node.inputs[0]
            # The name keeps two targets of one value apart.
            node = Operation("store", (node, Operand(name, Kind.ANY)), node.kind)
        elif node.function == "load":
            node = replace(node, function="store", inputs=(*node.inputs, Operand(name, Kind.ANY)))
        _order(node, ordered, steps, weights)
        finals.append((name, node))
    return _Allocator(steps, dict(finals), targets, overlaps).plan()


def _lowered(node: Node, known: dict[Node, Node]) -> Node:
    """The node with selections replaced by bit operations, which do not branch."""
    if not isinstance(node, Operation):
        return node
    if node not in known:
        inputs = tuple(_lowered(each, known) for each in node.inputs)
        known[node] = (
            _selection(inputs[0], inputs[1], inputs[2], node.kind)
            if node.function == "select"
            else replace(node, inputs=inputs)
        )
    return known[node]


def _selection(mask: Node, a: Node, b: Node, kind: Kind) -> Operation:
    """``a`` where the mask is set, else ``b``.

    Multiplying bits by the mask chooses without branching, and an infinity or NaN that is not
    chosen leaves 0.
    """
    if _is_zero(b):
        return Operation("keep", (a, mask), kind)
    if _is_zero(a):
        return Operation("keep", (b, Operation("logical_not", (mask,), Kind.BOOL)), kind)
    difference = Operation("bitwise_xor", (a, b), kind)
    return Operation("bitwise_xor", (Operation("keep", (difference, mask), kind), b), kind)


def _is_zero(node: Node) -> bool:
    if not (isinstance(node, Scalar) and isinstance(node.expression, Number)):
        return False
    value = node.expression.value
    return value == 0 and math.copysign(1.0, value) > 0


def _weight(node: Node, known: dict[Node, int]) -> int:
    """Working memories needed to compute a node, if all inputs were its own."""
    if not isinstance(node, Operation):
        return 0
    if node not in known:
        needs = sorted((_weight(each, known) for each in node.inputs), reverse=True)
        known[node] = max([1, *(need + i for i, need in enumerate(needs))])
    return known[node]


def _order(node: Node, done: set[Node], steps: list[Operation], weights: dict[Node, int]) -> None:
    if not isinstance(node, Operation) or node in done:
        return
    for each in sorted(node.inputs, key=lambda n: -_weight(n, weights)):
        _order(each, done, steps, weights)
    done.add(node)
    steps.append(node)


def _is_mask(kind: Kind) -> bool:
    return kind is Kind.BOOL


@dataclass
class _Allocator:
    steps: list[Operation]
    finals: dict[str, Node]
    targets: Mapping[str, Kind | None]
    overlaps: Mapping[str, frozenset[str]]
    places: dict[Node, Place] = field(default_factory=dict)
    cells: dict[Cell, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=lambda: {"word": 0, "mask": 0})
    free: dict[str, list[Place]] = field(default_factory=lambda: {"word": [], "mask": []})

    def plan(self) -> Plan:
        """The steps with a place for every value."""
        self._last_use = {n: i for i, step in enumerate(self.steps) for n in step.inputs}
        self._ready = {
            name: max(
                (i for i, step in enumerate(self.steps) if self._reads(step, name)), default=-1
            )
            for name in self.targets
        }
        self._held: dict[str, Node] = {}
        made: list[Step] = []
        for i, step in enumerate(self.steps):
            inputs = tuple(
                self._input(step, each)
                for each in (step.inputs[:1] if step.function == "store" else step.inputs)
            )
            dying = [n for n in dict.fromkeys(step.inputs) if self._dies(n, i)]
            output = self._output(step, i, dying)
            self.places[step] = output
            bits = step.function in ("keep", "bitwise_xor") and step.kind is Kind.FLOAT
            kind = Kind.ANY if step.function == "store" else step.kind
            made.append(Step(step.function, inputs, output, kind, bits))
        made += [
            Step("store", ((self.places[node], node.kind),), Place("target", name), Kind.ANY)
            for name, node in self.finals.items()
            if self.places[node] != Place("target", name)
        ]
        return Plan(tuple(made), self.counts["word"], self.counts["mask"], tuple(self.cells))

    def _reads(self, step: Operation, target: str) -> bool:
        shared = self.overlaps.get(target, frozenset())
        inputs = step.inputs[:1] if step.function == "store" else step.inputs
        return any(isinstance(n, Operand) and n.name in shared for n in inputs)

    def _dies(self, node: Node, now: int) -> bool:
        return (
            isinstance(node, Operation)
            and self._last_use[node] == now
            and node not in self.finals.values()
        )

    def _input(self, step: Operation, node: Node) -> tuple[Place, Kind]:
        if isinstance(node, Operand):
            return Place("operand", node.name), Kind.ANY
        if isinstance(node, Operation):
            return self.places[node], node.kind
        kind = node.kind
        if kind is not Kind.BOOL:
            kinds = {n.kind for n in step.inputs if not isinstance(n, Scalar)}
            kind = Kind.INT if Kind.INT in kinds or step.kind is Kind.INT else Kind.FLOAT
        cell = self.cells.setdefault(Cell(node.expression, kind), len(self.cells))
        return Place("scalar", cell), kind

    def _output(self, step: Operation, now: int, dying: list[Node]) -> Place:
        own = next((name for name, node in self.finals.items() if node == step), "")
        stored = step.function == "store" or self.targets.get(own) is step.kind
        if own and stored and self._open(own, now, dying):
            self._let_go(dying, keep=None)
            self._held[own] = step
            return Place("target", own)
        sort = "mask" if _is_mask(step.kind) else "word"
        # A result waits for its own target; another's may have to be written before it is copied.
        again = next((n for n in dying if self._fits(self.places[n], step.kind, own)), None)
        self._let_go(dying, keep=again)
        if again is not None:
            place = self.places[again]
            if place.sort == "target":
                self._held[str(place.key)] = step
            return place
        for name in self.targets:
            if self._fits(Place("target", name), step.kind, own) and self._open(name, now, ()):
                self._held[name] = step
                return Place("target", name)
        if self.free[sort]:
            return self.free[sort].pop()
        self.counts[sort] += 1
        return Place(sort, self.counts[sort] - 1)

    def _open(self, target: str, now: int, dying: list[Node] | tuple[()]) -> bool:
        """Whether a target's memory may be written in this step."""
        held = self._held.get(target)
        return now >= self._ready[target] and (held is None or held in dying)

    def _fits(self, place: Place, kind: Kind, final: str = "") -> bool:
        if place.sort == "target":
            stored = self.targets[str(place.key)]
            return not final and stored is not None and _is_mask(stored) == _is_mask(kind)
        return place.sort == ("mask" if _is_mask(kind) else "word")

    def _let_go(self, dying: list[Node], keep: Node | None) -> None:
        for node in dying:
            if node == keep:
                continue
            place = self.places[node]
            if place.sort == "target":
                self._held.pop(str(place.key), None)
            else:
                self.free[place.sort].append(place)
