"""Where everything in a program came from: layers, instructions, tensors and kernels, both ways.

Read from what the compiler recorded in the program (owners of instructions, layers of tensors);
nothing is guessed. Keys of instructions outlive a compile, so that a selection survives an edit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, TypeAlias

from studio.engine.compiler.lifetimes import group_spans
from studio.engine.core.tensor import Ref, Role
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.program import Program
from studio.engine.layers.graph import Port, output_port
from studio.session.core import entities
from studio.session.core.entities import Entity, Kind

NodeRole: TypeAlias = Literal["forward", "backward", "update", "data", "synthetic"]

SYNTHETIC: Mapping[str, str] = {
    "data": "data",
    "loss": "loss",
    "metrics": "metrics",
    "update": "optimiser",
}
"""Owners that are no layer, and the name the studio shows for them."""

UNKNOWN = "origin unknown"
"""Shown for an instruction of which no pass kept the origin."""

_ROLES: Mapping[str, NodeRole] = {
    "data": "data",
    "forward": "forward",
    "loss": "forward",
    "backward": "backward",
    "update": "update",
    "metrics": "forward",
}


class Origin(NamedTuple):
    """A layer (or housekeeping owner) an instruction came from.

    Attributes:
        owner: node id, or the shown name of a synthetic owner.
        role: what the instruction does for it.
    """

    owner: str
    role: NodeRole


class EntityPath(NamedTuple):
    """One thing seen at four levels; a level that does not exist is None."""

    node: Entity | None = None
    instruction: Entity | None = None
    tensor: Entity | None = None
    kernel: Entity | None = None

    def at(self, kind: Kind) -> Entity | None:
        """The part of that kind."""
        found: Entity | None = getattr(self, kind, None)
        return found


NO_PATH = EntityPath()


class Provenance:
    """The many-to-many map between the parts of one program.

    Args:
        program: as the backend runs it.
        kernels: number of dispatches by the index they begin at; one each by default. A fused group
            is dispatched as one and begins at its first instruction.
    """

    def __init__(self, program: Program, kernels: Mapping[int, int] | None = None) -> None:
        self.program = program
        self._instructions: list[tuple[str, Instruction]] = []
        self._keys: list[str] = []
        self._index: dict[str, int] = {}
        self._origins: list[tuple[Origin, ...]] = []
        self._of_owner: defaultdict[str, list[int]] = defaultdict(list)
        self._writers: defaultdict[str, list[int]] = defaultdict(list)
        self._readers: defaultdict[str, list[int]] = defaultdict(list)
        self._operands: list[tuple[str, ...]] = []
        self._of_layer: defaultdict[str, list[str]] = defaultdict(list)
        self._kernels = kernels or {}
        self._groups = group_spans(program)
        self._build()

    # -- instructions ---------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._keys)

    def key_of(self, index: int) -> str:
        """The stable key of the instruction at a running index."""
        return self._keys[index]

    def index_of(self, key: str) -> int | None:
        """The running index of an instruction, None when this program has it no more."""
        return self._index.get(key)

    def instruction_at(self, index: int) -> Instruction:
        """The instruction itself."""
        return self._instructions[index][1]

    def nodes_of(self, index: int) -> tuple[Origin, ...]:
        """Every layer an instruction came from with its role; synthetic owners where none."""
        return self._origins[index]

    def instructions_of(self, owner: str) -> tuple[int, ...]:
        """Running indices of the instructions of a node or a synthetic owner."""
        return tuple(self._of_owner.get(owner, ()))

    # -- tensors --------------------------------------------------------------------------------

    def producer(self, key: str) -> int | None:
        """Index of the first instruction that writes a tensor (key with ``.grad``), if any."""
        writers = self.writers(key)
        return writers[0] if writers else None

    def writers(self, key: str) -> tuple[int, ...]:
        """Indices of the instructions that write a tensor, or the one it is a view of."""
        return tuple(self._writers.get(key) or self._writers.get(self._root_key(key)) or ())

    def consumers(self, key: str) -> tuple[int, ...]:
        """Indices of the instructions that read a tensor."""
        return tuple(self._readers.get(key, ()))

    def operands_of(self, index: int) -> tuple[str, ...]:
        """Keys of the tensors an instruction touches, those written first."""
        return self._operands[index]

    def has_tensor(self, key: str) -> bool:
        """Whether the program has a tensor of that key."""
        name = key.removesuffix(entities.GRADIENT)
        if name == key:
            return self.program.tensors.has_name(name)
        return key in self._writers or key in self._readers

    def node_of_tensor(self, key: str) -> str:
        """Id of the node whose port a tensor is, empty for housekeeping."""
        name = key.removesuffix(entities.GRADIENT)
        tensors = self.program.tensors
        return tensors.named(name).layer if tensors.has_name(name) else ""

    def tensors_of(self, node_id: str) -> tuple[str, ...]:
        """Names of the tensors that are a node's ports, its output first."""
        return tuple(self._of_layer.get(node_id, ()))

    # -- links ----------------------------------------------------------------------------------

    def tensor_of_output(self, port: Port) -> str:
        """Name of the tensor that is an output of a node; empty where it has no tensor for it."""
        own, tensors = self.tensors_of(port.node), self.program.tensors
        wanted = output_port(port.output)
        found = next((name for name in own if tensors.named(name).port == wanted), "")
        if found or port.output or not own or tensors.named(own[0]).port == output_port(1):
            return found
        return own[0]

    def exists(self, entity: Entity) -> bool:
        """Whether this program (or the graph it came from) still has the thing."""
        if entity.kind == "node":
            return bool(self.instructions_of(entity.key) or self.tensors_of(entity.key))
        if entity.kind == "tensor":
            return self.has_tensor(entity.key)
        if entity.kind == "instruction":
            return entity.key in self._index
        if entity.kind == "kernel":
            key, number = entities.kernel_parts(entity)
            index = self._index.get(key)
            if index is None or self._groups[index].first != index:
                return False
            return number < self._kernels.get(index, 1)
        return False

    def related(self, entity: Entity, kind: Kind) -> tuple[Entity, ...]:
        """The things of one kind that belong to an entity, in program order; itself for its own."""
        if entity.kind == kind:
            return (entity,)
        if entity.kind == "wire":
            source = entities.wire_ends(entity)[0]
            return self.related(entities.node(source), kind)
        found = self._instructions_related(entity)
        if kind == "node":
            if entity.kind == "tensor" and self.node_of_tensor(entity.key):
                return (entities.node(self.node_of_tensor(entity.key)),)
            owners = (o.owner for i in found for o in self._origins[i])
            return tuple(entities.node(each) for each in dict.fromkeys(owners))
        if kind == "tensor":
            return self._tensors_related(entity, found)
        if kind == "instruction":
            return tuple(entities.instruction(self._keys[i]) for i in found)
        if kind == "kernel":
            begins = dict.fromkeys(self._groups[i].first for i in found)
            return tuple(
                entities.kernel(self._keys[i], n)
                for i in begins
                for n in range(self._kernels.get(i, 1))
            )
        return ()

    def path(self, entity: Entity, near: EntityPath = NO_PATH) -> EntityPath:
        """The same thing at all four levels.

        Args:
            near: a path seen before; its parts are kept where they belong to the entity too, so
                that walking along one path does not leave it.
        """
        if entity.kind == "wire":
            source, _, _, output = entities.wire_ends(entity)
            name = self.tensor_of_output(Port(source, output)) if output else ""
            entity = entities.tensor(name) if name else entities.node(source)
        if entity.kind not in EntityPath._fields or not self.exists(entity):
            return EntityPath(node=entity) if entity.kind == "node" else EntityPath()
        kept = [e for e in near if e is not None]
        # A part alone was found while there was no program, or before the thing was in it.
        if near.at(entity.kind) == entity and len(kept) > 1 and all(map(self.exists, kept)):
            return near
        line = self._instruction_near(entity, near)
        made = {
            "node": self._chosen(entity, line, "node", near),
            "instruction": line,
            "tensor": self._chosen(entity, line, "tensor", near),
            "kernel": self._chosen(entity, line, "kernel", near),
        }
        return EntityPath(**made)

    # -- inside ---------------------------------------------------------------------------------

    def _build(self) -> None:
        counts: defaultdict[str, int] = defaultdict(int)
        for section, index, line in self.program.located():
            owners = line.owners or (UNKNOWN,)
            stem = f"{self.program.mode}/{section}/{'+'.join(owners)}/{line.mnemonic}"
            key = f"{stem}/{counts[stem]}"
            counts[stem] += 1
            self._instructions.append((section, line))
            self._keys.append(key)
            self._index[key] = index
            self._note_operands(index, line)
            self._origins.append(self._origins_of(section, line))
            for origin in self._origins[index]:
                self._of_owner[origin.owner].append(index)
        for found in self.program.tensors.values():
            if found.layer and found.role is not Role.SLOT:
                self._of_layer[found.layer].append(found.name)
        for names in self._of_layer.values():
            names.sort(key=lambda n: not n.endswith("/output"))

    def _note_operands(self, index: int, line: Instruction) -> None:
        effects = line.effects()
        written = [r for r in line.operands if r.present and r in effects.writes]
        written += sorted(effects.writes - set(written))
        read = [r for r in line.operands if r.present and r in effects.reads]
        read += sorted(effects.reads - set(read))
        for ref in dict.fromkeys(written):
            self._writers[self.key_of_ref(ref)].append(index)
        for ref in dict.fromkeys(read):
            self._readers[self.key_of_ref(ref)].append(index)
        keys = (self.key_of_ref(ref) for ref in (*written, *read))
        self._operands.append(tuple(dict.fromkeys(keys)))

    def key_of_ref(self, ref: Ref) -> str:
        """The key of the tensor an operand names."""
        name = self.program.tensors[ref.id].name
        return name + entities.GRADIENT if ref.grad else name

    def _origins_of(self, section: str, line: Instruction) -> tuple[Origin, ...]:
        role = _ROLES[section]
        if not line.owners:
            return (Origin(UNKNOWN, "synthetic"),)
        found = [
            Origin(SYNTHETIC[owner], "synthetic") if owner in SYNTHETIC else Origin(owner, role)
            for owner in line.owners
        ]
        if section == "update":
            layers = (self.program.tensors[r.id].layer for r in line.operands if r.present)
            found += [Origin(layer, "update") for layer in dict.fromkeys(layers) if layer]
        # Layers first: they are what a person looks for.
        return tuple(sorted(dict.fromkeys(found), key=lambda o: o.role == "synthetic"))

    def _root_key(self, key: str) -> str:
        """The key of the tensor that owns the storage of a view."""
        name = key.removesuffix(entities.GRADIENT)
        tensors = self.program.tensors
        if not tensors.has_name(name):
            return key
        root = tensors[tensors.root(tensors.named(name).id)].name
        return root + key[len(name) :]

    def _instructions_related(self, entity: Entity) -> tuple[int, ...]:
        if entity.kind == "node":
            return self.instructions_of(entity.key)
        if entity.kind == "instruction":
            return self._indices((entity.key,))
        if entity.kind == "kernel":
            begin = self._indices((entities.kernel_parts(entity)[0],))
            spans = (self._groups[i] for i in begin)
            return tuple(i for span in spans for i in range(span.first, span.last + 1))
        if entity.kind == "tensor":
            return tuple(sorted({*self.writers(entity.key), *self.consumers(entity.key)}))
        return ()

    def _tensors_related(self, entity: Entity, found: Iterable[int]) -> tuple[Entity, ...]:
        own = self.tensors_of(entity.key) if entity.kind == "node" else ()
        keys = dict.fromkeys((*own, *(k for i in found for k in self._operands[i])))
        return tuple(Entity("tensor", key) for key in keys)

    def _indices(self, keys: Iterable[str]) -> tuple[int, ...]:
        return tuple(self._index[key] for key in keys if key in self._index)

    def _instruction_near(self, entity: Entity, near: EntityPath) -> Entity | None:
        """The instruction that stands for an entity: the near one if related, else the writer."""
        found = self._instructions_related(entity)
        if near.instruction is not None and self._index.get(near.instruction.key) in found:
            return near.instruction
        if entity.kind == "tensor":
            found = self.writers(entity.key) or found
        real = [i for i in found if self._operands[i]] or list(found)
        return entities.instruction(self._keys[real[0]]) if real else None

    def _chosen(
        self, entity: Entity, line: Entity | None, kind: Kind, near: EntityPath
    ) -> Entity | None:
        if entity.kind == kind:
            return entity
        before = near.at(kind)
        if kind == "node" and entity.kind == "tensor" and self.node_of_tensor(entity.key):
            return entities.node(self.node_of_tensor(entity.key))
        choices = () if line is None else self.related(line, kind)
        if not choices and entity.kind == "node":
            choices = self.related(entity, kind)
        if before is not None and before in choices:
            return before
        return choices[0] if choices else None
