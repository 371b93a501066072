"""The table of a network: layers, output shapes, parameters."""

from __future__ import annotations

from dataclasses import dataclass

from studio.engine.layers.graph import LayerGraph


@dataclass(frozen=True)
class SummaryRow:
    """One use of a layer; a shared layer counts its parameters at its first use only."""

    node: str
    name: str
    kind: str
    output: tuple[int, ...]
    parameters: int
    inputs: tuple[str, ...]


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
            shape = ", ".join(["N", *(str(d) for d in row.output)])
            cells.append(
                (f"{row.name} ({row.kind})", f"[{shape}]", f"{row.parameters:,}",
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


def summarize(graph: LayerGraph) -> Summary:
    """The summary of a graph; raises what its shape checks raise."""
    shapes = graph.shapes()
    counted: set[str] = set()
    rows, trained, frozen = [], 0, 0
    for node in graph.order():
        layer = node.layer
        found = layer.parameters(*(shapes[p.node] for p in node.inputs))
        if layer.name in counted:
            found = ()
        counted.add(layer.name)
        own = sum(p.size for p in found)
        learned = sum(p.size for p in found if layer.trainable and not p.state)
        trained, frozen = trained + learned, frozen + own - learned
        rows.append(
            SummaryRow(
                node.id, layer.name, type(layer).__name__, shapes[node.id], own,
                tuple(graph.nodes[p.node].layer.name for p in node.inputs),
            )
        )  # fmt: skip
    return Summary(graph.name, tuple(rows), trained, frozen)
