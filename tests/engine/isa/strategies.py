"""Hypothesis strategies for instructions, tensors and programs."""

import math

from hypothesis import strategies as st

from studio.engine.core.dtypes import DType
from studio.engine.core.options import OptionKind
from studio.engine.core.tensor import ABSENT, Ref, Role, Tensor, TensorMap
from studio.engine.isa import ops
from studio.engine.isa.instruction import all_instructions
from studio.engine.isa.program import SECTIONS, Program

assert ops.__all__
NAME = st.text(min_size=1, max_size=12)


def values(attr):
    if attr.kind is OptionKind.INTEGER:
        return st.integers(int(max(attr.low, -(2**31))), int(min(attr.high, 2**32 - 1)))
    if attr.kind is OptionKind.NUMBER:
        low = None if math.isinf(attr.low) else attr.low
        high = None if math.isinf(attr.high) else attr.high
        return st.floats(low, high, width=64 if low or high else 32).map(float)
    if attr.kind is OptionKind.FLAG:
        return st.booleans()
    if attr.kind is OptionKind.CHOICE:
        return st.sampled_from(attr.choices)
    if attr.kind is OptionKind.INTEGERS:
        return st.lists(st.integers(-1, 4096), max_size=6).map(tuple)
    return st.lists(st.sampled_from(attr.choices or ("x",)), unique=True).filter(
        lambda found: all(f in attr.choices for f in found)
    )


def refs(ids=None):
    chosen = st.integers(0, 2**30) if ids is None else st.sampled_from(ids)
    return st.builds(Ref, chosen, st.booleans())


@st.composite
def instructions(draw, ids=None):
    cls = draw(st.sampled_from(all_instructions()))
    fields = {"owners": tuple(draw(st.lists(NAME, max_size=3)))}
    for spec in cls.operand_fields:
        if spec.variadic:
            fields[spec.name] = tuple(draw(st.lists(refs(ids), min_size=1, max_size=4)))
        elif spec.optional and draw(st.booleans()):
            fields[spec.name] = ABSENT
        else:
            fields[spec.name] = draw(refs(ids))
    for attr in cls.attr_fields:
        if attr.kind is OptionKind.NAMES and not attr.choices:
            continue
        fields[attr.name] = draw(values(attr))
    return cls(**fields)


@st.composite
def tensors(draw, tensor_id, known):
    rank = draw(st.integers(0, 6))
    shape = tuple(draw(st.integers(0, 9)) for _ in range(rank))
    if rank and draw(st.booleans()):
        shape = (draw(st.sampled_from((-1, -2))), *shape[1:])
    pads = st.tuples(st.integers(0, 3), st.integers(0, 3))
    number = st.floats(width=32, allow_nan=False)
    return Tensor(
        tensor_id,
        f"{tensor_id}{draw(NAME)}",
        shape,
        draw(st.sampled_from(DType)),
        draw(st.sampled_from(Role)),
        trainable=draw(st.booleans()),
        weight=draw(st.booleans()),
        init=draw(st.sampled_from(("", "zeros", "constant(0.5)", 'a "b" \\ c'))),
        stream=draw(st.integers(0, 2**32 - 1)),
        pad=tuple(draw(pads) for _ in range(rank)) if draw(st.booleans()) else (),
        view_of=draw(st.sampled_from(known)) if known and draw(st.booleans()) else None,
        register=draw(st.booleans()),
        partial=draw(st.integers(0, 4)) == 0,
        value=draw(st.none() | st.lists(number, max_size=4).map(tuple)),
        layer=draw(st.sampled_from(("", "conv1", "a layer; with = signs"))),
        port=draw(st.sampled_from(("", "output"))),
    )


@st.composite
def programs(draw):
    made = []
    for tensor_id in range(draw(st.integers(1, 5))):
        made.append(draw(tensors(tensor_id, [t.id for t in made])))
    ids = [t.id for t in made]
    chosen = draw(st.lists(st.sampled_from(SECTIONS), unique=True))
    sections = {
        name: tuple(draw(st.lists(instructions(ids), min_size=1, max_size=4)))
        for name in SECTIONS
        if name in chosen
    }
    built = Program(
        draw(st.text(max_size=8)),
        draw(st.sampled_from(("train", "evaluate", "infer"))),
        TensorMap(made),
        sections,
        tuple(draw(st.lists(st.sampled_from(ids), max_size=2))),
        tuple(draw(st.lists(st.sampled_from(ids), max_size=2))),
        draw(st.dictionaries(NAME, st.text(max_size=12), max_size=2)),
    )
    if draw(st.booleans()):
        return built
    empty = draw(st.lists(st.sampled_from(SECTIONS), max_size=2))
    tagged = [(section, ins) for section, _, ins in built.located()]
    mixed = built.with_lines(draw(st.permutations(tagged)))
    return mixed.with_sections(**{n: () for n in empty if not mixed.section(n)})
