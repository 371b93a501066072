"""The text the shader compiler makes, held in golden files; no device is needed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import BATCH, Shape
from studio.engine.gl.kernels.specs import DeviceCaps
from studio.engine.gl.plan.planner import Planner
from studio.engine.gl.shader.planned import PlannedDispatch, TableBinding
from studio.engine.isa.program import Program
from studio.engine.runtime.entries import entries
from tests.engine.gl.gl_programs import Lines

Golden = Callable[[str, str], None]
HALO = ((0, 0), (1, 1), (1, 1), (0, 0))


def planned(program: Program, batch: int = 3) -> list[PlannedDispatch]:
    planner = Planner(program, batch, 7, DeviceCaps(), lambda ref: (1 + ref.grad, 256 * ref.id))
    return [one for entry in entries(program) for one in planner.plan(entry)]


def text_of(program: Program) -> str:
    """The generated part of all kernels: what stands behind the library."""
    found = []
    for one in planned(program):
        head, _, rest = one.source.text.partition("#line 1001")
        body = rest[rest.index("\n#line ") + 1 :]
        local = head.splitlines()[1]
        found.append(f"== {one.source.name} {one.groups} {one.launch}\n{local}\n{body}")
    return "\n".join(found)


def one_line(mnemonic: str, shapes: dict[str, Shape], **fields: object) -> Program:
    lines = Lines()
    refs = {
        name: lines.made(name, shape, pad=HALO if name in fields.get("padded", ()) else ())
        for name, shape in shapes.items()
    }
    fields.pop("padded", None)
    lines.add("forward", mnemonic, **refs, **fields)
    return lines.program()


CASES = {
    "relu_vectors": one_line("RELU", {"x": (BATCH, 6), "y": (BATCH, 6)}),
    "add_row": one_line("ADD", {"x1": (BATCH, 4, 8), "x2": (8,), "y": (BATCH, 4, 8)}),
    "mul_columns": one_line("MUL", {"a": (BATCH, 5, 1), "b": (BATCH, 1, 3), "y": (BATCH, 5, 3)}),
    "relu_into_halo": one_line(
        "RELU", {"x": (BATCH, 4, 4, 8), "y": (BATCH, 4, 4, 8)}, padded=("y",)
    ),
    "pad": one_line("PAD", {"x": (BATCH, 2), "y": (BATCH, 5)}, pads=(0, 0, 1, 2)),
    "grads_mul_row": one_line(
        "GRADS_MUL", {"a": (BATCH, 4, 8), "b": (8,), "y": (BATCH, 4, 8)}, set=("b",)
    ),
    "loss_mse": one_line("LOSS_MSE", {"p": (BATCH, 4), "t": (BATCH, 4), "y": ()}),
}


@pytest.mark.parametrize("name", CASES)
def test_text_of_one_instruction(name: str, golden: Golden) -> None:
    golden(f"glsl/{name}.glsl", text_of(CASES[name]))


def test_text_of_packed_types(golden: Golden) -> None:
    lines = Lines()
    x = lines.made("x", (BATCH, 7), dtype=DType.uint8)
    half = lines.made("half", (BATCH, 7), dtype=DType.float16)
    flag = lines.made("flag", (BATCH, 7), dtype=DType.bool)
    lines.add("forward", "CAST", x=x, y=half, dtype="float16")
    lines.add("forward", "CAST", x=half, y=flag, dtype="bool")
    lines.add("forward", "FILL", y=x, number=3.0)
    golden("glsl/packed_types.glsl", text_of(lines.program()))


def test_text_of_fused_groups(golden: Golden) -> None:
    lines = Lines()
    x, bias = lines.made("x", (BATCH, 2, 4)), lines.made("bias", (8,))
    flat, y = (lines.made(n, (BATCH, 8), register=True) for n in ("flat", "y"))
    z, out = (lines.made(n, (BATCH, 8)) for n in ("z", "out"))
    lines.add("forward", "FUSE", kind="epilogue")
    lines.add("forward", "FLATTEN", x=x, y=flat)
    lines.add("forward", "ADD", x1=flat, x2=bias, y=y)
    lines.add("forward", "RELU", x=y, y=z)
    lines.add("forward", "END")
    lines.add("forward", "FUSE", kind="chain")
    lines.add("forward", "SQUARE", x=z, y=out)
    lines.add("forward", "GRADS_SQUARE", x=z, y=out)
    lines.add("forward", "END")
    golden("glsl/fused_groups.glsl", text_of(lines.program()))


def test_text_of_merged_updates(golden: Golden) -> None:
    lines = Lines()
    step, rates = lines.kept("step", (8,), DType.int32), lines.kept("rates", (4,))
    lines.add("update", "FUSE", kind="update")
    for k, shape in enumerate([(3, 1000), (5,)]):
        w, m, v = (lines.kept(f"{n}{k}", shape) for n in "wmv")
        lines.add("update", "UPDATE_ADAM", w=w, g=w.gradient, step=step, rates=rates, m=m, v=v)
    lines.add("update", "END")
    golden("glsl/merged_updates.glsl", text_of(lines.program()))


@pytest.mark.parametrize("name", CASES)
def test_text_does_not_depend_on_the_batch(name: str) -> None:
    few, many = (planned(CASES[name], batch) for batch in (3, 1000))
    assert [p.source.text for p in few] == [p.source.text for p in many]


def test_equal_lines_over_other_tensors_share_their_text() -> None:
    lines = Lines()
    for k in range(2):
        x, y = lines.made(f"x{k}", (BATCH, 6)), lines.made(f"y{k}", (BATCH, 6))
        lines.add("forward", "TANH", x=x, y=y)
    first, second = planned(lines.program())
    assert first.source.text == second.source.text
    assert first.bindings != second.bindings


def test_lines_of_kernel_files_have_blocks_of_their_own() -> None:
    (one,) = planned(CASES["pad"])
    names = one.source.files
    assert names[0] == "generated"
    assert names[-1] == "pad.glsl"
    assert f"#line {1000 * (len(names) - 1) + 1}\n// pad:" in one.source.text


def test_tables_say_where_segments_lie() -> None:
    lines = Lines()
    step, rates = lines.kept("step", (8,), DType.int32), lines.kept("rates", (4,))
    lines.add("update", "FUSE", kind="update")
    for name, count in (("w", 1500), ("u", 3)):
        w = lines.kept(name, (count,))
        lines.add("update", "UPDATE_SGD", w=w, g=w.gradient, step=step, rates=rates)
    lines.add("update", "END")
    (one,) = planned(lines.program())
    table = one.bindings[0]
    assert isinstance(table, TableBinding)
    # Lengths, and offsets in vec4 from the first storage on: 256 bytes lie between the two.
    words = memoryview(table.words).cast("i").tolist()
    assert words == [1024, 0, 0, 476, 256, 256, 3, 16, 16]
    assert one.groups == (3, 1, 1)
