"""Selection targets: layers, wires, instructions, tensors and kernels, named alike in all views."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias, get_args

Kind: TypeAlias = Literal["node", "wire", "instruction", "tensor", "kernel", "run", "metric"]

KINDS: tuple[Kind, ...] = get_args(Kind)

GRADIENT = ".grad"


class Entity(NamedTuple):
    """One thing the user can select.

    Attributes:
        kind: what sort of thing.
        key: its identity among that sort, the same after an edit, a save or a new compile: a node
            id, a tensor's name (``.grad`` appended for its gradient), ``source→target:slot`` of a
            wire (``source#output`` where it leaves another output than the first), the stable key
            of an instruction (see `Provenance`), that key and ``#n`` for a kernel, a run's folder
            name, a metric's name.
    """

    kind: Kind
    key: str


def node(node_id: str) -> Entity:
    """The entity of a layer on the canvas."""
    return Entity("node", node_id)


def wire(source: str, target: str, slot: int, output: int = 0) -> Entity:
    """The entity of a wire from an output of ``source`` into input ``slot`` of ``target``."""
    start = f"{source}#{output}" if output else source
    return Entity("wire", f"{start}→{target}:{slot}")


def wire_ends(entity: Entity) -> tuple[str, str, int, int]:
    """Source, target, slot and output of a wire; ValueError for another kind of entity."""
    if entity.kind != "wire":
        raise ValueError(f"expected a wire, got a {entity.kind}")
    start, _, rest = entity.key.partition("→")
    source, _, output = start.partition("#")
    target, _, slot = rest.rpartition(":")
    return source, target, int(slot), int(output or 0)


def tensor(name: str, *, grad: bool = False) -> Entity:
    """The entity of a tensor's data, or of its gradient."""
    return Entity("tensor", name + GRADIENT if grad else name)


def tensor_name(entity: Entity) -> tuple[str, bool]:
    """Name of the tensor, and whether its gradient is meant; ValueError for another kind."""
    if entity.kind != "tensor":
        raise ValueError(f"expected a tensor, got a {entity.kind}")
    plain = entity.key.removesuffix(GRADIENT)
    return plain, plain != entity.key


def instruction(key: str) -> Entity:
    """The entity of an instruction, by its stable key."""
    return Entity("instruction", key)


def kernel(instruction_key: str, number: int = 0) -> Entity:
    """The entity of one dispatch of an instruction."""
    return Entity("kernel", f"{instruction_key}#{number}")


def kernel_parts(entity: Entity) -> tuple[str, int]:
    """Instruction key and number of a kernel; ValueError for another kind."""
    if entity.kind != "kernel":
        raise ValueError(f"expected a kernel, got a {entity.kind}")
    key, _, number = entity.key.rpartition("#")
    return key, int(number)


def run(name: str) -> Entity:
    """The entity of a recorded training, by its folder name."""
    return Entity("run", name)


def metric(name: str) -> Entity:
    """The entity of a plotted quantity."""
    return Entity("metric", name)
