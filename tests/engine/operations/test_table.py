"""The table of operations: names, aliases, options and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ParameterError, ShapeError, StudioError
from studio.engine.core.tensor import BATCH, Role
from studio.engine.operations import LIBRARIES, OPERATIONS, find, operation
from studio.engine.operations.types import common_type, weak_type
from tests.engine.operations.writing import ProgramLines


@pytest.mark.parametrize("made", OPERATIONS.values(), ids=lambda made: made.name)
def test_every_operation_is_documented(made):
    assert made.tip.endswith((".", ":"))
    assert all(option.doc.endswith(".") for option in made.options)
    assert set(made.aliases) <= set(LIBRARIES)
    for option in made.options:
        if not option.required:
            # The default is a value that may be given, also as a project file has it.
            option.check(option.plain(option.default), made.name)


def test_a_name_elsewhere_finds_an_operation():
    assert find("var") is OPERATIONS["var"]
    assert find("sub", "tfjs").name == find("Sub", "onnx").name == find("sub").name == "subtract"
    assert OPERATIONS.by_alias["numpy", "true_divide"].name == "divide"
    with pytest.raises(ParameterError, match="there is no operation 'matmull'") as caught:
        find("matmull")
    assert "matmul" in caught.value.hint
    with pytest.raises(ParameterError, match="there is no operation"):
        find("subtract", "tfjs")


def test_errors_name_the_operation_and_the_types():
    lines = ProgramLines()
    a, b = (lines.operand(np.zeros(shape, np.float32)) for shape in ((3, 4), (2, 4)))
    with pytest.raises(ShapeError) as caught:
        OPERATIONS["add"].write(lines, a, b)
    assert str(caught.value).startswith(
        "[add] shapes must broadcast: got [3,4] and [2,4]; operands:"
    )
    with pytest.raises(ParameterError, match=r"\[add\] expected 2 operands, got 1"):
        OPERATIONS["add"].write(lines, a)
    with pytest.raises(ParameterError, match=r"\[concatenate\] expected at least 1 operand, got 0"):
        OPERATIONS["concatenate"].write(lines)
    with pytest.raises(ParameterError, match=r"\[var\] unknown option 'dof'"):
        OPERATIONS["var"].write(lines, a, dof=1)
    with pytest.raises(ParameterError, match=r"\[one_hot\] depth must be given"):
        OPERATIONS["one_hot"].write(lines, a)
    with pytest.raises(ParameterError, match=r"\[sum\] expected a dimension"):
        OPERATIONS["sum"].write(lines, a, axis="first")
    with pytest.raises(ShapeError, match=r"\[sum\] axis 2 is outside of 2 dimensions"):
        OPERATIONS["sum"].write(lines, a, axis=2)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"stop": float("nan")}, "stop: expected a number, got nan"),
        ({"stop": float("inf")}, "stop: expected a number, got inf"),
        ({"stop": 1.0, "step": 0.0}, "step must not be 0"),
        ({"stop": 1e12}, "at most 2147483647 may be"),
        ({"stop": 1e7, "step": 0.5}, "a constant of 20000000 numbers"),
    ],
)
def test_ranges_that_cannot_be_are_refused(given, match):
    with pytest.raises(StudioError, match=match):
        OPERATIONS["arange"].write(ProgramLines(), **given)


@pytest.mark.parametrize(
    ("name", "shapes", "options", "match"),
    [
        ("search_sorted", [(2, 5), (3, 4)], {}, "a row in order for each row of values"),
        ("search_sorted", [(), (3,)], {}, "expected a vector in order"),
        ("conv2d_transpose", [(1, 4, 4, 2), (3, 3, 1, 2)], {"size": (9, 6)},
         "a valid convolution of 9 cells by steps of 1 with a kernel of 3 gives 7, not 4"),
        ("conv2d_transpose", [(1, 4, 4, 2), (3, 3, 1, 2)], {"strides": (0, 1)}, "at least 1"),
        ("conv2d_transpose", [(1, 4, 4, 2), (3, 3, 1, 3)], {}, "channels"),
        ("conv2d_transpose", [(1, 0, 4, 2), (3, 3, 1, 2)], {}, "no cell in images of 0 by 4"),
        ("dilation2d", [(1, 4, 4, 2), (2, 2, 3)], {}, "for those of x"),
        ("dilation2d", [(1, 4, 4, 2), (5, 2, 2)], {}, "a window of 5 cells does not fit into 4"),
        ("max_pool_with_argmax", [(1, 40, 40, 1)], {"size": (33, 32)}, "1 to 1024 cells"),
        ("max_pool_with_argmax", [(1, 4, 4, 1)], {"size": (-1, -1)}, "1 to 1024 cells"),
        ("conv3d", [(1, 4, 4, 2), (2, 2, 2, 2, 1)], {}, "expected volumes"),
        ("conv3d", [(1, 2, 4, 4, 2), (3, 2, 2, 2, 1)], {}, "3 slices does not fit into 2"),
        ("conv3d", [(1, 2, 4, 4, 2), (2, 2, 2, 2, 1)], {"strides": (1, 1)}, "must be 3 numbers"),
        ("max_pool3d", [(1, 4, 4, 4, 1)], {"size": (2, 0, 2)}, "size must be 3 numbers"),
        ("space_to_batch", [(1, 3, 4, 1)], {"block": (2, 2)}, "3 cells with their zeros"),
        ("space_to_batch", [(BATCH, 4, 4, 1)], {"block": (2, 2)}, "the length of the batch"),
        ("space_to_batch", [(1, 4)], {"block": (2, 2)}, "expected 1 to 1 numbers above 0"),
        ("batch_to_space", [(6, 4, 4, 1)], {"block": (2, 2)}, "6 is no multiple of the 4 cells"),
        ("batch_to_space", [(4, 2, 2)], {"block": (2, 2), "crops": ((1, 0),)}, "two numbers for"),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit_are_refused_by_name(name, shapes, options, match):
    lines = ProgramLines()
    refs = [lines.builder.tensor(f"x{i}", s, DType.float32, Role.INPUT)
            for i, s in enumerate(shapes)]  # fmt: skip
    with pytest.raises(StudioError, match=rf"\[{name}\] .*{match}"):
        OPERATIONS[name].write(lines, *refs, **options)


def test_whole_numbers_are_counted_on_the_device_and_fractions_are_rounded_once():
    lines = ProgramLines()
    OPERATIONS["arange"].write(lines, stop=1e6)
    (fractions,) = OPERATIONS["arange"].write(lines, stop=1.0, step=0.1)
    program = lines.builder.finish((), ())
    assert [ins.mnemonic for ins in program.section("forward")] == ["RANGE"]
    assert program.tensors[fractions.id].value == tuple(
        float(v) for v in np.arange(0, 1, 0.1).astype(np.float32)
    )


def test_types_meet_in_the_larger_one():
    assert common_type([DType.bool, DType.int32]) is DType.int32
    assert common_type([DType.uint8, DType.float16]) is DType.float32
    assert common_type([DType.bool], DType.int32) is DType.int32
    assert weak_type(2, DType.float32) is weak_type(0.5, DType.int32) is DType.float32
    assert weak_type(2, DType.int32) is weak_type(True, DType.int32) is DType.int32
    assert (weak_type(True), weak_type(1), weak_type(1.0)) == (
        DType.bool, DType.int32, DType.float32,
    )  # fmt: skip


def test_wrong_declarations_are_refused():
    with pytest.raises(TypeError, match="two operations 'add'"):
        operation(name="add")(lambda lines, x: x)
    with pytest.raises(TypeError, match="no library 'torch'"):
        operation(name="none", torch="add")(lambda lines, x: x)


def test_options_come_from_text_of_a_form():
    axis = next(o for o in OPERATIONS["sum"].options if o.name == "axis")
    assert [axis.check(text, "sum") for text in ("", "1", "0, 1", "[2]")] == [None, 1, (0, 1), (2,)]
    pads = next(o for o in OPERATIONS["pad"].options if o.name == "pads")
    assert pads.check("[[0, 1], [2, 3]]", "pad") == ((0, 1), (2, 3))
    assert pads.plain(((0, 1), (2, 3))) == [[0, 1], [2, 3]]
    for wrong in ("1", [[1, 2, 3]], [[True, False]], None, [[1.5, 2]]):
        with pytest.raises(ParameterError, match="expected two whole numbers"):
            pads.check(wrong, "pad")
