"""Programs with small weights: their setup section widens the kernels once, before the first run.

A kernel becomes a constant that DEQUANTIZE makes of its small values and scales, or CAST where
float16 values need no scales. Normalisations that were folded into a kernel are folded into its
scales instead, so that the small values of a file are the same in every format.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.compiler.passes.fold_batchnorm import Scaled
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import DataError, quoted
from studio.engine.core.tensor import Ref, Role, Tensor
from studio.engine.interop.small_weights import SmallWeight
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.data import Dequantize
from studio.engine.isa.ops.move import Cast
from studio.engine.isa.program import SETUP, Program
from studio.engine.layers.graph import free_name

Array: TypeAlias = npt.NDArray[np.generic]


def with_small_weights(
    program: Program,
    weights: Mapping[str, Array],
    small: Mapping[str, SmallWeight],
    scaled: Mapping[str, Scaled],
) -> tuple[Program, dict[str, Array]]:
    """An inference program that widens small kernels itself, and its weights by tensor name.

    Args:
        program: an inference program.
        weights: its weights by tensor name.
        small: kernels of the network in their small form, by name.
        scaled: weights of the program that are kernels of the network times factors.

    Raises:
        DataError: a kernel and a normalisation give scales that are no finite float32.
    """
    setup = _Setup(program)
    first: dict[int, int] = {}
    for place, ins in enumerate(program):
        for ref in ins.operands:
            first.setdefault(ref.id, place)
    for tensor in sorted(program.of_role(Role.PARAM), key=lambda t: first.get(t.id, len(program))):
        source, factors = scaled.get(tensor.name, Scaled(tensor.name, np.ones(())))
        if source in small:
            setup.widen(tensor, source, small[source], factors)
    kept = {name: a for name, a in weights.items() if name not in setup.widened}
    return setup.program(), {**kept, **setup.weights}


class _Setup:
    """Collects the lines that widen kernels, with their tensors and values.

    Attributes:
        weights: small values and scales by tensor name.
        widened: names of the kernels made of them.
    """

    def __init__(self, program: Program) -> None:
        self.weights: dict[str, Array] = {}
        self.widened: set[str] = set()
        self._program = program
        self._next = program.next_id()
        self._names = {tensor.name for tensor in program.tensors.values()}
        self._made: list[Tensor] = []
        self._values: dict[str, Tensor] = {}
        self._lines: list[Instruction] = []

    def widen(
        self, kernel: Tensor, source: str, small: SmallWeight, factors: npt.NDArray[np.float64]
    ) -> None:
        """Make a kernel a constant: small values times their scales times factors."""
        x = self._values_of(source, small, kernel)
        owners = (source.rpartition("/")[0] or source,)
        plain = {"trainable": False, "weight": False, "init": "", "stream": 0}
        self._made.append(kernel.replace(role=Role.CONST, **plain))
        self.widened.add(kernel.name)
        if small.scale is None and not factors.ndim:
            self._lines.append(Cast(x=x, y=kernel.ref, dtype="float32", owners=owners))
            return
        with np.errstate(over="ignore"):
            scale = ((1.0 if small.scale is None else small.scale) * factors).astype(np.float32)
        if not np.isfinite(scale).all():
            raise DataError(
                f"the scales of {quoted(kernel.name)} with the normalisation behind it hold NaN or "
                "infinity, so they cannot be stored",
                who=self._program.name,
            )
        held = self._keep(f"{kernel.name}/scale", scale, kernel)
        self._lines.append(Dequantize(x=x, scale=held.ref, y=kernel.ref, owners=owners))

    def program(self) -> Program:
        """The program with its setup section; the same where nothing was widened."""
        if not self._lines:
            return self._program
        grown = self._program.with_tensors(self._program.tensors.update(self._made))
        return grown.with_sections(**{SETUP: self._lines})

    def _values_of(self, source: str, small: SmallWeight, kernel: Tensor) -> Ref:
        """The small values, which several kernels of a program may be made of."""
        if source not in self._values:
            name = f"{source}/{small.values.dtype.name}"
            self._values[source] = self._keep(name, small.values, kernel)
        return self._values[source].ref

    def _keep(self, wanted: str, values: Array, kernel: Tensor) -> Tensor:
        name = free_name(wanted, self._names)
        dtype, port = DType.of(values.dtype), name.rpartition("/")[2]
        made = Tensor(
            self._next, name, values.shape, dtype, Role.PARAM, layer=kernel.layer, port=port
        )
        self._next += 1
        self._names.add(name)
        self._made.append(made)
        self.weights[name] = values
        return made
