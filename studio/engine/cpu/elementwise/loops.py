"""Formulas as compiled loops: one pass over flat memory where NumPy would take several.

Formulas with transcendental functions stay with NumPy, whose vectorised forms are as fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from studio.engine.cpu.elementwise.graph import Graph, Node, Operand, Operation, Scalar
from studio.engine.cpu.elementwise.steps import Cell
from studio.engine.formula.kinds import Kind

_TEXTS: Mapping[str, str] = {
    "add": "{0} + {1}", "subtract": "{0} - {1}", "multiply": "{0} * {1}", "divide": "{0} / {1}",
    "negative": "-{0}", "absolute": "abs({0})", "square": "{0} * {0}", "sqrt": "np.sqrt({0})",
    "less": "{0} < {1}", "less_equal": "{0} <= {1}", "greater": "{0} > {1}",
    "greater_equal": "{0} >= {1}", "equal": "{0} == {1}", "not_equal": "{0} != {1}",
    "logical_and": "{0} & {1}", "logical_or": "{0} | {1}", "logical_not": "not {0}",
    "select": "{1} if {0} else {2}",
}  # fmt: skip

_LIMITS: Mapping[str, tuple[str, str, str]] = {
    "maximum": (
        "{1} if {0} <= {1} else {0}", "{0} if {1} < {0} else {1}",
        "{0} if ({0} > {1}) | ({0} != {0}) else {1}",
    ),
    "minimum": (
        "{1} if {0} >= {1} else {0}", "{0} if {1} > {0} else {1}",
        "{0} if ({0} < {1}) | ({0} != {0}) else {1}",
    ),
}  # fmt: skip
"""With a number on the right, on the left, with two operands: NaN stays, at a tie the right one is
taken, as NumPy does. The number is not NaN."""


@dataclass(frozen=True)
class Loop:
    """The text of a loop.

    Attributes:
        text: a function over flat arrays: the targets, the operands, the cells if there are any.
        operands: names of the operands it takes, in order.
        cells: what its last array holds, in order.
    """

    text: str
    operands: tuple[str, ...]
    cells: tuple[Cell, ...]


def can_loop(graph: Graph) -> bool:
    """Whether a graph uses only simple operations on floats and booleans."""
    seen: set[Node] = set()
    return all(_is_simple(node, seen) for _, node in graph.results)


def _is_simple(node: Node, seen: set[Node]) -> bool:
    if node in seen:
        return True
    seen.add(node)
    if not isinstance(node, Operation):
        return node.kind is not Kind.INT
    known = node.function in _TEXTS or node.function in _LIMITS
    return known and node.kind is not Kind.INT and all(_is_simple(n, seen) for n in node.inputs)


def print_loop(name: str, graph: Graph, same: Mapping[str, str]) -> Loop:
    """The loop of a graph.

    A target that shares memory with an operand is passed once. The compiler then knows that
    nothing overlaps, and can vectorise.

    Args:
        name: of the function.
        graph: one that `can_loop`.
        same: by operand, the target in whose memory it lies.
    """
    return _Printer(graph, same).loop(name)


class _Printer:
    def __init__(self, graph: Graph, same: Mapping[str, str]) -> None:
        self._graph, self._same = graph, same
        self._names: dict[Node, str] = {}
        self._lines: list[str] = []
        self._operands: list[str] = []
        self._cells: dict[Cell, str] = {}

    def loop(self, name: str) -> Loop:
        """The source text."""
        # What is only read is read first: the order decides which products the compiler fuses with
        # a sum, and so the last bit of an update.
        for _, node in self._graph.results:
            for operand in _operands(node):
                if operand.name not in self._same:
                    self._value(operand)
        results = [(target, self._value(node)) for target, node in self._graph.results]
        targets = [f"to_{target}" for target, _ in results]
        cells = enumerate(self._cells.items())
        arguments = [*targets, *(f"at_{n}" for n in self._operands)]
        arguments += ["numbers"] if self._cells else []
        lines = [
            f"def {name}({', '.join(arguments)}):",
            *(f"    {made} = {self._stored(cell, i)}" for i, (cell, made) in cells),
            f"    for i in range({targets[0]}.size):",
            *(f"        {line}" for line in self._lines),
            *(f"        to_{target}[i] = {value}" for target, value in results),
        ]
        return Loop("\n".join([*lines, ""]), tuple(self._operands), tuple(self._cells))

    def _value(self, node: Node) -> str:
        if node in self._names:
            return self._names[node]
        if isinstance(node, Scalar):
            kind = Kind.BOOL if node.kind is Kind.BOOL else Kind.FLOAT
            cell = self._cells.setdefault(Cell(node.expression, kind), f"number_{len(self._cells)}")
            return cell
        if isinstance(node, Operand):
            if node.name in self._same:
                text = f"to_{self._same[node.name]}[i]"
            else:
                self._operands.append(node.name)
                text = f"at_{node.name}[i]"
        else:
            text = self._form(node).format(*(self._value(each) for each in node.inputs))
        made = f"v{len(self._names)}"
        self._lines.append(f"{made} = {text}")
        self._names[node] = made
        return made

    @staticmethod
    def _stored(cell: Cell, place: int) -> str:
        return f"numbers[{place}]" + (" != 0" if cell.kind is Kind.BOOL else "")

    @staticmethod
    def _form(node: Operation) -> str:
        if node.function in _TEXTS:
            return _TEXTS[node.function]
        right, left, both = _LIMITS[node.function]
        a, b = node.inputs
        return right if isinstance(b, Scalar) else left if isinstance(a, Scalar) else both


def _operands(node: Node) -> Iterator[Operand]:
    if isinstance(node, Operand):
        yield node
    elif isinstance(node, Operation):
        for each in node.inputs:
            yield from _operands(each)


def compiled_loop(name: str, loop: Loop, *, fast: bool) -> Callable[..., object]:
    """The compiled loop; compiled on its first call and cached on disk."""
    from studio.engine.cpu.compiled.formulas import compiled_text

    return compiled_text(name, loop.text, fast=fast)
