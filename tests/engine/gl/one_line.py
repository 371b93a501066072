"""Runs a single instruction on the OpenGL backend with given operands and gradients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from studio.engine.compiler.target import GL, Target
from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import ABSENT, BATCH, Pads, Ref, Role, TensorMap
from studio.engine.gl.backend import GlBackend
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.instruction import Instruction, by_mnemonic

Array = npt.NDArray[Any]


class OneLine:
    """A program of one instruction, and what goes in and comes out.

    Args:
        mnemonic: the instruction, possibly ``GRADS_…``.
        operands: arrays of read or updated operands, shapes of written ones, ``None`` for absent.
        gradients: what the gradient storages hold before, by operand.
        batched: operands whose dimension 0 is the batch.
        pads: halo of operands.
        same: operands that are another operand's tensor.
        fields: attributes.
    """

    def __init__(
        self,
        mnemonic: str,
        operands: Mapping[str, Array | tuple[int, ...] | None],
        gradients: Mapping[str, Array] | None = None,
        batched: tuple[str, ...] = (),
        pads: Mapping[str, Pads] | None = None,
        same: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> None:
        cls = by_mnemonic(mnemonic)
        assert cls is not None
        self.feeds: dict[int, Array] = {}
        self.refs: dict[str, Ref] = {}
        self.batch = 1
        builder = ProgramBuilder(mnemonic.lower(), "infer")
        for name, given in operands.items():
            self._add(builder, name, given, name in batched, (pads or {}).get(name, ()))
        for name, other in (same or {}).items():
            self.refs[name] = self.refs[other]
        for name, values in (gradients or {}).items():
            self._add_gradient(builder, name, values)
        builder.append("forward", cls(**self.refs, **fields))
        outputs = tuple(r for n, r in self.refs.items() if r.present and r.id not in self.feeds)
        self.program = builder.finish(tuple(Ref(i) for i in self.feeds), outputs)
        self.instruction: Instruction = cls(**self.refs, **fields)

    def follow(self, mnemonic: str) -> None:
        """Fuse the line with an element-wise instruction from ``y`` to ``z``."""
        fuse, after, end = by_mnemonic("FUSE"), by_mnemonic(mnemonic), by_mnemonic("END")
        assert fuse is not None
        assert after is not None
        assert end is not None
        y = self.refs["y"]
        z = Ref(self.program.next_id())
        tensor = self.program.tensor(y).replace(id=z.id, name="z")
        tensors = TensorMap([*self.program.tensors.values(), tensor])
        group = (fuse(kind="epilogue"), self.instruction, after(x=y, y=z), end())
        self.refs["z"] = z
        self.program = replace(
            self.program.with_tensors(tensors).with_sections(forward=group),
            outputs=(*self.program.outputs, z.id),
        )

    def _add(
        self,
        builder: ProgramBuilder,
        name: str,
        given: Array | tuple[int, ...] | None,
        batched: bool,
        pad: Pads,
    ) -> None:
        if given is None:
            self.refs[name] = ABSENT
            return
        written = isinstance(given, tuple)
        shape = tuple(given) if isinstance(given, tuple) else given.shape
        if batched:
            self.batch = shape[0]
            shape = (BATCH, *shape[1:])
        kinds = {"i": DType.int32, "b": DType.bool, "u": DType.uint8}
        dtype = DType.float32 if isinstance(given, tuple) else kinds.get(given.dtype.kind)
        whole = any(values.dtype.kind == "i" for values in self.feeds.values())
        if name == "y" and (
            builder.name == "argmax" or (whole and builder.name.startswith("reduce_"))
        ):
            dtype = DType.int32
        role = Role.ACTIVATION if written else Role.INPUT
        ref = builder.tensor(name, shape, dtype or DType.float32, role, pad=pad)
        self.refs[name] = ref
        if not isinstance(given, tuple):
            self.feeds[ref.id] = given

    def _add_gradient(self, builder: ProgramBuilder, name: str, values: Array) -> None:
        """Lines that put ``values`` into a gradient storage: it is 1 times them."""
        ref = self.refs[name]
        shape = builder.peek(ref).shape
        given = builder.tensor(f"{name}_gradient", shape, role=Role.INPUT)
        one = builder.tensor(f"{name}_one", shape)
        self.feeds[given.id] = values
        fill, mul = by_mnemonic("FILL"), by_mnemonic("GRADS_MUL")
        assert fill is not None
        assert mul is not None
        builder.append("data", fill(y=one.gradient, number=1.0))
        builder.append("data", mul(a=ref, b=given, y=one, set=("a",), skip=("b",)))


@contextmanager
def planned_for(backend: GlBackend, target: Target) -> Iterator[None]:
    """Have what is compiled meanwhile planned for another kind of device than the renderer is."""
    before = backend.work.target
    backend.work.target = target
    try:
        yield
    finally:
        backend.work.target = before


def run_line(
    backend: GlBackend, line: OneLine, *wanted: str, variant: str = "", gpu: bool = False
) -> dict[str, Array]:
    """Results by name (``y``, or ``dx`` for a gradient) after one run.

    Args:
        backend: where it runs.
        line: what runs.
        wanted: names of results.
        variant: the variant to take; the table chooses where empty.
        gpu: choose as on a GPU, whatever the device is.
    """
    with planned_for(backend, GL) if gpu else nullcontext():
        return _run(backend, line, wanted, variant)


def _run(
    backend: GlBackend, line: OneLine, wanted: tuple[str, ...], variant: str
) -> dict[str, Array]:
    mnemonic = line.instruction.mnemonic
    backend.prefer({mnemonic: variant} if variant else {})
    session = backend.open_session()
    executable = backend.compile(line.program, session, line.batch)
    if variant:
        names = {one.variant for _, planned in executable.planned for one in planned}
        assert variant in names
    for tensor, values in line.feeds.items():
        dtype = line.program.tensors[tensor].dtype
        executable.feed(tensor, np.asarray(values, dtype.np))
    executable.run()
    found = {}
    for name in wanted:
        ref = line.refs[name] if name in line.refs else line.refs[name[1:]].gradient
        found[name] = executable.fetch(ref).result()
    executable.close()
    session.close()
    backend.prefer({})
    return found
