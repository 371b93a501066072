"""The table of a network: layers, output shapes, parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import OpenShape, TensorType
from studio.engine.layers.graph import LayerGraph, Port
from studio.engine.layers.lengths import open_shape


@dataclass(frozen=True)
class SummaryRow:
    """One use of a layer; a shared layer counts its parameters at its first use only.

    Attributes:
        node: id of the use.
        name: of the layer.
        kind: class of the layer.
        outputs: type of each output, as `LayerGraph.reported_types` has it.
        parameters: numbers the layer owns.
        inputs: names of the layers that feed it.
        path: the nested model it is part of, by names from the outermost in; empty for none.
    """

    node: str
    name: str
    kind: str
    outputs: tuple[TensorType, ...]
    parameters: int
    inputs: tuple[str, ...]
    path: str = ""

    @property
    def output(self) -> OpenShape:
        """Shape of the first output, without the batch; None for a length that is not known."""
        return open_shape(self.outputs[0])


@dataclass(frozen=True)
class Summary:
    """Rows in running order and the counts below them.

    Attributes:
        title: the model's name.
        rows: uses of layers.
        trainable: numbers that training changes.
        frozen: other numbers the network saves.
        models: calls of nested models, as rows of kind ``Model``, by path.
    """

    title: str
    rows: tuple[SummaryRow, ...]
    trainable: int
    frozen: int
    models: Mapping[str, SummaryRow] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """All numbers the network saves: trained, frozen and running statistics."""
        return self.trainable + self.frozen

    def text(self, *, expand_nested: bool = True) -> str:
        """The table as fixed-width text.

        A nested model has a line of its own. The layers in it are indented below that, or left out
        where ``expand_nested`` is False.
        """
        head = ("layer", "output", "parameters", "fed by")
        cells = [head]
        for depth, row in self._lines():
            if depth and not expand_nested:
                continue
            outputs = ", ".join(map(_type_text, row.outputs))
            cells.append(
                (f"{'  ' * depth}{row.name} ({row.kind})", outputs, f"{row.parameters:,}",
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

    def _lines(self) -> Iterator[tuple[int, SummaryRow]]:
        """Rows with their depth; each nested model before the first layer in it."""
        told: set[str] = set()
        for row in self.rows:
            names = row.path.split("/") if row.path else []
            for depth in range(len(names)):
                path = "/".join(names[: depth + 1])
                if path not in told and path in self.models:
                    told.add(path)
                    yield depth, self.models[path]
            yield len(names), row


def _type_text(found: TensorType) -> str:
    """As ``[N, 8, 8, 1]``; the dtype in front where it is not float32."""
    dtype = "" if found.dtype is DType.float32 else found.dtype.name
    return f"{dtype}[{', '.join(['N', *map(str, open_shape(found))])}]"


def summarize(graph: LayerGraph) -> Summary:
    """The summary of a graph; raises what its shape checks raise."""
    types, shown = graph.types(), graph.reported_types()
    made: dict[str, list[TensorType]] = {}
    for port, type_ in shown.items():
        made.setdefault(port.node, []).append(type_)
    counted: set[str] = set()
    places = {node: path for path, each in graph.nested.items() for node in each.layers}
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
                places.get(node.id, ""),
            )
        )  # fmt: skip
    models = {path: _model_row(graph, path, shown, rows) for path in graph.nested}
    return Summary(graph.name, tuple(rows), trained, frozen, models)


def _model_row(
    graph: LayerGraph, path: str, types: Mapping[Port, TensorType], rows: Sequence[SummaryRow]
) -> SummaryRow:
    """A call of a nested model as one row: what all layers in it own together."""
    nested = graph.nested[path]
    inside = [row for row in rows if f"{row.path}/".startswith(f"{path}/")]
    fed = (port.node for _, port in nested.inputs if port is not None)
    return SummaryRow(
        path,
        path.rpartition("/")[2],
        "Model",
        tuple(types[port] for _, port in nested.outputs if port is not None),
        sum(row.parameters for row in inside),
        tuple(graph.nodes[node].layer.name for node in fed),
        path.rpartition("/")[0],
    )
