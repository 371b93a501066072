"""Builds a program line by line: makes tensors, infers types, records owners."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import StudioError
from studio.engine.core.tensor import Ref, Role, Shape, Tensor, TensorMap, TensorType
from studio.engine.isa.fields import Access
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.program import SECTIONS, Program

LATE = 1 << 30
"""Ids from here up stand for tensors that are numbered when the program is finished."""


class ProgramBuilder:
    """Collects tensors and instructions; ids follow the order of creation.

    Args:
        name: name of the program.
        mode: ``train``, ``evaluate`` or ``infer``.
    """

    def __init__(self, name: str, mode: str) -> None:
        self.name = name
        self.mode = mode
        self._tensors: list[Tensor] = []
        self._late: list[Tensor] = []
        self._names: dict[str, int] = {}
        self._sections: dict[str, list[Instruction]] = {s: [] for s in SECTIONS}
        self._owner: tuple[str, ...] = ()
        self._layer = ""

    @contextmanager
    def owned_by(self, owner: str, *, layer: str = "") -> Iterator[None]:
        """Instructions and tensors made inside belong to ``owner`` (a layer, or housekeeping)."""
        before = (self._owner, self._layer)
        self._owner, self._layer = (owner,), layer
        try:
            yield
        finally:
            self._owner, self._layer = before

    def tensor(
        self,
        name: str,
        shape: Shape,
        dtype: DType = DType.float32,
        role: Role = Role.ACTIVATION,
        *,
        late: bool = False,
        port: str = "",
        **flags: Any,
    ) -> Ref:
        """Add a tensor and return its operand; a taken name gets ``_2``, ``_3`` … behind it.

        A ``late`` tensor is numbered after all others when the program is finished.
        """
        unique = self._unique(name)
        group = self._late if late else self._tensors
        tensor_id = LATE + len(group) if late else len(group)
        group.append(
            Tensor(tensor_id, unique, shape, dtype, role, layer=self._layer, port=port, **flags)
        )
        return Ref(tensor_id)

    def type_of(self, ref: Ref) -> TensorType:
        """The type of an operand made so far."""
        return self.peek(ref).type

    def peek(self, ref: Ref) -> Tensor:
        """The tensor of an operand made so far."""
        return self._late[ref.id - LATE] if ref.id >= LATE else self._tensors[ref.id]

    def name_port(self, ref: Ref, layer: str, port: str) -> None:
        """Say which port of its layer a result is; weights and other layers' tensors stay."""
        found = self.peek(ref)
        if ref.id < LATE and found.layer == layer and found.role is Role.ACTIVATION:
            self._tensors[ref.id] = found.replace(port=port)

    def rename(self, ref: Ref, layer: str, name: str, port: str) -> None:
        """Give a result of a layer another name and port; weights and other layers' tensors stay.

        A taken name gets ``_2``, ``_3`` … behind it.
        """
        found = self.peek(ref)
        if ref.id < LATE and found.layer == layer and found.role is Role.ACTIVATION:
            self._tensors[ref.id] = found.replace(name=self._unique(name), port=port)

    def emit(
        self, section: str, cls: type[Instruction], *, name: str = "", port: str = "", **fields: Any
    ) -> tuple[Ref, ...]:
        """Append an instruction; written operands that are not given are made with inferred types.

        ``name`` and ``port`` are those of the first result made; others are named by their fields.
        Returns the written operands. Shape errors come out with the owner's name in front.
        """
        written = [f for f in cls.operand_fields if f.access is Access.WRITE]
        missing = [f.name for f in written if not f.optional and f.name not in fields]
        stand_in: dict[str, Any] = dict.fromkeys(missing, Ref(0))
        draft = cls(owners=self._owner, **fields, **stand_in)
        types = dict(zip((f.name for f in written), self._infer(draft), strict=False))
        owner = self._owner[0] if self._owner else cls.mnemonic.lower()
        made: dict[str, Ref] = {}
        for field_name in missing:
            first = not made
            made[field_name] = self.tensor(
                (name if first else "") or f"{owner}/{field_name}",
                types[field_name].shape,
                types[field_name].dtype,
                port=(port or "output") if first else field_name,
            )
        ins = draft.replace(**made) if made else draft
        self._sections[section].append(ins)
        return tuple(
            ref for spec, ref in ins.named_operands() if spec.access is Access.WRITE and ref.present
        )

    def append(self, section: str, ins: Instruction) -> None:
        """Append a finished instruction, owned by the current owner if it has none."""
        self._sections[section].append(
            ins if ins.owners or not self._owner else ins.replace(owners=self._owner)
        )

    def finish(
        self,
        inputs: tuple[Ref, ...],
        outputs: tuple[Ref, ...],
        meta: Mapping[str, str] | None = None,
    ) -> Program:
        """The program, with late tensors numbered behind the others."""
        base = len(self._tensors)

        def settle(ref: Ref) -> Ref:
            return Ref(ref.id - LATE + base, ref.grad) if ref.id >= LATE else ref

        late = [t.replace(id=t.id - LATE + base) for t in self._late]
        sections = {
            name: tuple(ins.map_refs(settle) for ins in found)
            for name, found in self._sections.items()
            if found
        }
        return Program(
            self.name,
            self.mode,
            TensorMap([*self._tensors, *late]),
            sections,
            tuple(settle(r).id for r in inputs),
            tuple(settle(r).id for r in outputs),
            dict(meta or {}),
        )

    def _infer(self, draft: Instruction) -> tuple[TensorType, ...]:
        try:
            return draft.types(self.type_of)
        except StudioError as error:
            if self._owner and not error.origin:
                error.origin = f"layer {self._owner[0]!r}"
            raise

    def _unique(self, name: str) -> str:
        count = self._names.get(name, 0) + 1
        self._names[name] = count
        return name if count == 1 else self._unique(f"{name}_{count}")
