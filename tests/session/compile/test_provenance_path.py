"""A path begun before there was a program is found whole once there is one."""

from __future__ import annotations

from studio.session.compile.provenance import EntityPath, Provenance
from studio.session.core import entities
from tests.instruction_view.programs import sample_program


def test_a_layer_chosen_before_the_compile_is_followed_to_its_kernel() -> None:
    found = Provenance(sample_program("digits-mlp", "train"))
    layer = next(t.layer for t in found.program.tensors.values() if t.name.endswith("/kernel"))
    node = entities.node(layer)
    begun = EntityPath(node=node)
    assert found.path(node, begun) == found.path(node)
    assert found.path(node, begun).instruction is not None
    assert found.path(node, begun).kernel is not None


def test_a_whole_path_is_not_left() -> None:
    found = Provenance(sample_program("digits-mlp", "train"))
    last = found.path(entities.instruction(found.key_of(len(found) - 1)))
    assert last.node is not None
    assert found.path(last.node, last) == last
