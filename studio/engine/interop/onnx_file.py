"""ONNX models, ``.onnx``: the inference program for other runtimes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from studio import __version__
from studio.engine.core.errors import FormatError, StudioError
from studio.engine.core.tensor import Role
from studio.engine.formats.onnx_wire import (
    MOST_BYTES,
    OPSETS,
    Model,
    Port,
    load_model,
    save_model,
    too_long,
)
from studio.engine.interop.file_format import Array, Exportable, FileFormat
from studio.engine.interop.onnx.formulas import least_opset
from studio.engine.interop.onnx.graph_writer import GraphWriter
from studio.engine.interop.onnx.nodes import entry
from studio.engine.interop.small_weights import CHANNEL_FORMS
from studio.engine.isa.ops.group import End, Fuse
from studio.engine.isa.program import Program

PRODUCER = "Glassbox"
OPSET = 17
"""The operator set unless told: what every runtime since 2022 takes."""

_SHOWN = 100


class OnnxFile(FileFormat):
    """The inference program as a graph of ONNX operators."""

    name = "onnx"
    title = "ONNX model"
    ending = ".onnx"
    about = "The inference program for onnxruntime and other runtimes; raw input, any batch size."
    holds = "program"
    can_drop = False
    order = 25
    words = ("onnxruntime", "netron")
    weight_forms = CHANNEL_FORMS
    opsets = OPSETS
    opset = OPSET

    def sniff(self, head: bytes) -> bool:
        # The version of the file form, then the name of the program that wrote it or its graph.
        return (
            len(head) > 2 and head[0] == 0x08 and 3 <= head[1] < 32 and head[2] in b"\x12\x3a\x42"
        )

    def why_not(self, model: Exportable) -> StudioError | None:
        if model.make_program is None:
            return FormatError("an ONNX file holds a program, and there are weights only",
                               who=model.name, hint="export as safetensors")  # fmt: skip
        return refusal(*model.program)

    def write(self, model: Exportable, path: Path) -> None:
        program, weights = model.program
        # A program names a single input as it likes, here it has the name of its layer.
        inputs = [node.layer.name for node in model.graph.inputs]
        # The program has the facts. How to normalise is none of them: it does so itself.
        save_model(path, onnx_model(program, weights, opset=self.opset, inputs=inputs))

    def summary(self, content: bytes) -> Iterator[str | Mapping[str, Array]]:
        found = load_model(content)
        graph = found.graph
        yield (
            f"ONNX model, file form {found.ir_version}, operator set {found.opset}, written by "
            f"{found.producer} {found.producer_version}"
        )
        counts = Counter(node.op for node in graph.nodes)
        yield f"graph {graph.name!r}: {len(graph.nodes)} nodes"
        for op, count in counts.most_common():
            yield f"  {op}: {count}"
        yield from _ports("inputs", graph.inputs)
        yield from _ports("outputs", graph.outputs)
        yield graph.initializers
        for key, value in found.metadata.items():
            yield f"{key}: {value[:_SHOWN]}"


def onnx_model(
    program: Program,
    weights: Mapping[str, Array],
    facts: Mapping[str, str] | None = None,
    *,
    opset: int | None = None,
    inputs: Sequence[str] = (),
) -> Model:
    """A program as an ONNX model.

    Nodes are named after layers and operators (``conv1/Conv``), values after tensors; the note of a
    node is its line of the listing. The batch is a dimension of any length. Fused groups are
    written part by part. Kernels that the program widens stay small in the file: float16 is widened
    by Cast, int8 by DequantizeLinear with a scale for each output channel.

    Args:
        program: an inference program; it takes raw input.
        weights: parameters and running statistics by tensor name.
        facts: text by key, for the file's metadata.
        opset: version of the operator set, 13 to 21; by default 17, or 18 where bits of whole
            numbers are computed with.
        inputs: names of the inputs; as the program states them unless given.

    Raises:
        FormatError: an instruction cannot be written; the layer is named. Or the operator set is
            unknown, a weight is missing, or there is too much for a file.
    """
    needed = max(map(least_opset, program), default=0)
    opset = max(OPSET, needed) if opset is None else opset
    if opset not in OPSETS:
        raise FormatError(
            f"expected an operator set of {OPSETS.start} to {OPSETS.stop - 1}, got {opset}",
            who=program.name,
        )
    if opset < needed:
        raise FormatError(
            f"what it computes needs operator set {needed}, got {opset}", who=program.name
        )
    why = refusal(program, weights)
    if why is not None:
        raise why
    writer = GraphWriter(program, weights, opset, inputs)
    for line in program:
        write = entry(type(line))
        if write is not None:
            writer.begin(line)
            write(writer, line)
    metadata = {**program.meta, **(facts or {})}
    return Model(
        writer.graph(), opset, dict(sorted(metadata.items())), PRODUCER, __version__
    )  # fmt: skip


def refusal(
    program: Program,
    weights: Mapping[str, Array],
) -> FormatError | None:
    """Why a program cannot be written as ONNX; None where it can."""
    for line in program:
        if entry(type(line)) is None and not isinstance(line, Fuse | End):
            return FormatError(
                f"ONNX files have nothing for the instruction {line.mnemonic}",
                who=line.owners[0] if line.owners else program.name,
                hint="export as an instruction file (.gbi), which holds any program",
            )
    if not weights and any(program.of_role(Role.PARAM, Role.STATE)):
        return FormatError("an ONNX file holds weights, and there are none",
                           who=program.name, hint="train the network first")  # fmt: skip
    size = sum(values.nbytes for values in weights.values())
    return too_long(size, program.name) if size > MOST_BYTES else None


def _ports(what: str, ports: tuple[Port, ...]) -> Iterator[str]:
    yield f"{len(ports)} {what if len(ports) > 1 else what[:-1]}"
    for port in ports:
        yield f"  {port.name}  {port.dtype}[{','.join(map(str, port.shape))}]"
