"""The table of a network: layers, output shapes, parameters."""

from __future__ import annotations

from dataclasses import dataclass

from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import Shape, TensorType
from studio.engine.layers.graph import LayerGraph


@dataclass(frozen=True)
class SummaryRow:
    """One use of a layer; a shared layer counts its parameters at its first use only.

    Attributes:
        node: id of the use.
        name: of the layer.
        kind: class of the layer.
        outputs: type of each output.
        parameters: numbers the layer owns.
        inputs: names of the layers that feed it.
    """

    node: str
    name: str
    kind: str
    outputs: tuple[TensorType, ...]
    parameters: int
    inputs: tuple[str, ...]

    @property
    def output(self) -> Shape:
        """Shape of the first output, without the batch."""
        return self.outputs[0].sample


@dataclass(frozen=True)
class Summary:
    """Rows in running order and the counts below them."""

    title: str
    rows: tuple[SummaryRow, ...]
    trainable: int
    frozen: int

    @property
    def total(self) -> int:
        """All numbers the network saves: trained, frozen and running statistics."""
        return self.trainable + self.frozen

    def text(self) -> str:
        """The table as fixed-width text."""
        head = ("layer", "output", "parameters", "fed by")
        cells = [head]
        for row in self.rows:
            outputs = ", ".join(map(_type_text, row.outputs))
            cells.append(
                (f"{row.name} ({row.kind})", outputs, f"{row.parameters:,}",
                 ", ".join(row.inputs))
            )  # fmt: skip
        widths = [max(len(line[column]) for line in cells) for column in range(4)]
        lines = [
            f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c:>{widths[2]}}  {d}".rstrip()
            for a, b, c, d in cells
        ]
        rule = "-" * max(len(line) for line in lines)
        counts = f"parameters: {self.total:,} ({self.trainable:,} trained, {self.frozen:,} not)"
        return "\n".join([self.title, rule, lines[0], rule, *lines[1:], rule, counts])


def _type_text(found: TensorType) -> str:
    """As ``[N, 8, 8, 1]``; the dtype in front where it is not float32."""
    dtype = "" if found.dtype is DType.float32 else found.dtype.name
    return f"{dtype}[{', '.join(['N', *map(str, found.sample)])}]"


def summarize(graph: LayerGraph) -> Summary:
    """The summary of a graph; raises what its shape checks raise."""
    types = graph.types()
    made: dict[str, list[TensorType]] = {}
    for port, type_ in types.items():
        made.setdefault(port.node, []).append(type_)
    counted: set[str] = set()
    rows, trained, frozen = [], 0, 0
    for node in graph.order():
        layer = node.layer
        found = layer.parameters(*(types[p].sample for p in node.inputs))
        if layer.name in counted:
            found = ()
        counted.add(layer.name)
        own = sum(p.size for p in found)
        learned = sum(p.size for p in found if layer.trainable and not p.state)
        trained, frozen = trained + learned, frozen + own - learned
        rows.append(
            SummaryRow(
                node.id, layer.name, type(layer).__name__, tuple(made[node.id]), own,
                tuple(graph.nodes[p.node].layer.name for p in node.inputs),
            )
        )  # fmt: skip
    return Summary(graph.name, tuple(rows), trained, frozen)
