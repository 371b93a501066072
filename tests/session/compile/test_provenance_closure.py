"""From any part of a program to any other and back, over the samples and twenty networks."""

from __future__ import annotations

import pytest

from studio.engine.isa.ops.group import End, Fuse
from studio.engine.isa.program import Program
from studio.engine.layers.graph import LayerGraph
from studio.session.compile.provenance import SYNTHETIC, UNKNOWN, EntityPath, Provenance
from studio.session.core import entities
from studio.session.core.entities import Entity
from tests.instruction_view.corpus import BUILDERS, MODES, graph_of, program_of
from tests.instruction_view.programs import SAMPLES, sample_program, sample_task

HOUSEKEEPING = set(SYNTHETIC.values())

CASES = [
    *((name, "corpus", mode, level) for name in BUILDERS for mode in MODES for level in (0, 2)),
    *((name, "sample", mode, 2) for name in SAMPLES for mode in MODES),
]
EVERY = pytest.mark.parametrize(("name", "where", "mode", "level"), CASES)


def program_named(name: str, where: str, mode: str, level: int) -> Program:
    return program_of(name, mode, level) if where == "corpus" else sample_program(name, mode)


def graph_named(name: str, where: str) -> LayerGraph:
    return graph_of(name) if where == "corpus" else sample_task(name).graph


def every_entity(found: Provenance, graph: LayerGraph) -> list[Entity]:
    """Everything of a program that can be selected."""
    lines = range(len(found))
    instructions = [entities.instruction(found.key_of(i)) for i in lines]
    kernels = [k for line in instructions for k in found.related(line, "kernel")]
    names = [t.name for t in found.program.tensors.values()]
    tensors = [entities.tensor(n, grad=g) for n in names for g in (False, True)]
    nodes = [entities.node(key) for key in graph.nodes]
    return [
        *nodes,
        *instructions,
        *dict.fromkeys(kernels),
        *(t for t in tensors if found.exists(t)),
    ]


@EVERY
def test_every_instruction_has_an_origin(name: str, where: str, mode: str, level: int) -> None:
    found = Provenance(program_named(name, where, mode, level))
    layers = set(graph_named(name, where).nodes)
    for index in range(len(found)):
        origins = found.nodes_of(index)
        assert origins
        for owner, role in origins:
            assert owner != UNKNOWN
            assert owner in (HOUSEKEEPING if role == "synthetic" else layers)


@EVERY
def test_layers_and_instructions_know_each_other(
    name: str, where: str, mode: str, level: int
) -> None:
    program = program_named(name, where, mode, level)
    found = Provenance(program)
    recorded = {owner for line in program for owner in line.owners}
    for node_id in graph_named(name, where).nodes:
        lines = found.instructions_of(node_id)
        # A layer may have come to nothing, as views and dropout outside training do.
        if node_id in recorded:
            assert lines
        for index in lines:
            assert node_id in {owner for owner, _ in found.nodes_of(index)}
    for index in range(len(found)):
        for owner, _ in found.nodes_of(index):
            assert index in found.instructions_of(owner)


@EVERY
def test_keys_lead_back_to_their_instruction(name: str, where: str, mode: str, level: int) -> None:
    found = Provenance(program_named(name, where, mode, level))
    keys = [found.key_of(index) for index in range(len(found))]
    assert len(set(keys)) == len(keys)
    assert [found.index_of(key) for key in keys] == list(range(len(found)))


@EVERY
def test_related_things_are_related_both_ways(name: str, where: str, mode: str, level: int) -> None:
    found = Provenance(program_named(name, where, mode, level))
    for index in range(len(found)):
        line = entities.instruction(found.key_of(index))
        for kind in ("tensor", "kernel", "node"):
            for other in found.related(line, kind):
                assert line in found.related(other, "instruction")


def complete_where_it_can_be(found: Provenance, path: EntityPath, entity: Entity) -> None:
    """Every level that the entity has anything at is there."""
    assert path.at(entity.kind) == entity
    for kind in ("node", "instruction", "tensor", "kernel"):
        if path.at(kind) is None:
            line = path.instruction
            around = (entity, *((line,) if line is not None else ()))
            assert all(not found.related(each, kind) for each in around)


@EVERY
def test_a_path_is_complete_and_every_part_of_it_gives_it_back(
    name: str, where: str, mode: str, level: int
) -> None:
    found = Provenance(program_named(name, where, mode, level))
    for entity in every_entity(found, graph_named(name, where)):
        path = found.path(entity)
        if found.exists(entity):
            complete_where_it_can_be(found, path, entity)
        for part in path:
            if part is not None:
                assert found.path(part, path) == path


@EVERY
def test_a_path_hangs_together(name: str, where: str, mode: str, level: int) -> None:
    found = Provenance(program_named(name, where, mode, level))
    for entity in every_entity(found, graph_named(name, where)):
        path = found.path(entity)
        if path.instruction is None:
            continue
        if path.kernel is not None:
            assert path.instruction in found.related(path.kernel, "instruction")
        index = found.index_of(path.instruction.key)
        assert index is not None
        is_marker = isinstance(found.instruction_at(index), Fuse | End)
        assert (path.tensor is None) == is_marker or entity.kind == "tensor"


@EVERY
def test_a_fused_group_is_one_kernel(name: str, where: str, mode: str, level: int) -> None:
    program = program_named(name, where, mode, level)
    found = Provenance(program)
    begin = -1
    for _, index, line in program.located():
        begin = index if isinstance(line, Fuse) else begin
        (kernel,) = found.related(entities.instruction(found.key_of(index)), "kernel")
        assert kernel == entities.kernel(found.key_of(begin if begin >= 0 else index))
        begin = -1 if isinstance(line, End) else begin


def test_several_dispatches_of_one_instruction_are_told_apart() -> None:
    program = program_of("picture")
    found = Provenance(program, {0: 3})
    line = entities.instruction(found.key_of(0))
    kernels = found.related(line, "kernel")
    assert [entities.kernel_parts(k)[1] for k in kernels] == [0, 1, 2]
    assert found.exists(kernels[2])
    assert not found.exists(entities.kernel(line.key, 3))
    path = found.path(kernels[2])
    assert path.kernel == kernels[2]
    assert found.path(path.instruction or line, path) == path
