"""Instruction files, ``.gbi``: a program with its weights that runs without the project."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from studio.engine.core.tensor import Role
from studio.engine.formats.gbi import MAGIC, load_gbi, save_gbi
from studio.engine.interop.file_format import Array, Exportable, FileFormat, ModelFile
from studio.engine.interop.program_names import input_names, output_names
from studio.engine.interop.small_weights import CHANNEL_FORMS
from studio.engine.isa.program import SECTIONS, Program
from studio.engine.layers.graph import LayerGraph

_SHOWN = 100


class InstructionFile(FileFormat):
    """Program, normalisation and weights, sealed by a checksum."""

    name = "gbi"
    title = "Instruction file"
    ending = ".gbi"
    about = "Program, normalisation and weights in one self-contained file."
    holds = "program"
    order = 10
    weight_forms = CHANNEL_FORMS

    def sniff(self, head: bytes) -> bool:
        return head.startswith(MAGIC)

    def write(self, model: Exportable, path: Path) -> None:
        program, weights = model.program
        # A program that was compiled and not trained has none.
        is_bare = not weights and any(program.of_role(Role.PARAM, Role.STATE))
        save_gbi(path, program, None if is_bare else weights)

    def read(self, path: Path, graph: LayerGraph | None = None) -> ModelFile:
        found = load_gbi(path)
        return ModelFile(found.weights, found.program, found.program.meta)

    def summary(self, content: bytes) -> Iterator[str | Mapping[str, Array]]:
        found = load_gbi(content)
        program = found.program
        yield f"instruction file, version {struct.unpack_from('<I', content, 8)[0]}"
        yield f"SHA-256 {sha256(content).hexdigest()}"
        yield f"program {program.name!r} for {program.mode}: {len(program)} instructions"
        for name in SECTIONS:
            count = len(program.section(name))
            if count:
                yield f"  {name}: {count}"
        if len(program.inputs) > 1:
            yield from _ports("inputs", program, program.inputs, input_names(program))
        if len(program.outputs) > 1:
            yield from _ports("outputs", program, program.outputs, output_names(program))
        yield f"{len(program.tensors)} tensors"
        yield found.weights
        for key, value in program.meta.items():
            yield f"{key}: {value[:_SHOWN]}"


def _ports(what: str, program: Program, ids: Sequence[int], names: Sequence[str]) -> Iterator[str]:
    """Inputs or outputs by name with their types."""
    yield f"{len(ids)} {what}"
    for tensor_id, name in zip(ids, names, strict=True):
        yield f"  {name}  {program.tensors[tensor_id].type}"
