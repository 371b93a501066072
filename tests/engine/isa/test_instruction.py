"""Instructions as values: copies with other operands, and what each copy says it touches."""

from __future__ import annotations

from studio.engine.core.tensor import Ref
from studio.engine.isa.ops.arithmetic import Add
from studio.engine.isa.ops.norm import BatchNorm


def test_a_copy_over_other_tensors_touches_those() -> None:
    line = Add(x1=1, x2=2, y=3, alpha=2.0, owners=("add",))
    assert line.effects().reads == {Ref(1), Ref(2)}
    moved = line.map_refs(lambda ref: Ref(ref.id + 10, ref.grad))
    assert moved == Add(x1=11, x2=12, y=13, alpha=2.0)
    assert moved.owners == ("add",)
    assert moved.effects().reads == {Ref(11), Ref(12)}
    assert moved.effects().writes == {Ref(13)}
    assert line.effects().reads == {Ref(1), Ref(2)}
    assert line.map_refs(lambda ref: ref) is line


def test_a_copy_with_another_attribute_has_effects_of_its_own() -> None:
    line = BatchNorm(x=1, gamma=2, beta=3, mean=4, var=5, y=6)
    frozen = line.replace(frozen=True)
    assert {Ref(4), Ref(5)} <= line.effects().writes
    assert not {Ref(4), Ref(5)} & frozen.effects().writes
    assert {Ref(4), Ref(5)} <= frozen.effects().reads
