from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from studio.engine.core.errors import BackendError, ShaderError
from studio.engine.gl.device.line_map import Diagnostic, LineMap, Place, parse_log, shader_error

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """\
#version 430
layout(local_size_x = 1) in;
#line 1001
float half_of(float x) {
    return 0.5 * x;
}
#line 2001
// conv2d: y(n, i, j, c)
float kernel(int n) {
    return xx(n);
}
#line 300
void main() { store(kernel(0)); }
"""
FILES = ("generated", "numerics.glsl", "conv2d.glsl")

# Mesa 22.3.6 on llvmpipe, recorded by compiling the text above.
MESA = """\
0:2003(9): error: no function with name 'xx'
0:2003(9): error: type mismatch
0:2003(2): error: `return' with wrong type error, in function `kernel' returning float
0:300(15): warning: `store' used uninitialized
"""
# The other vendors' forms, as users of their drivers post them.
NVIDIA = """\
0(2003) : error C1503: undefined variable "xx"
0(2003) : warning C7050: "y" might be used before being initialized
0(1002) : error C0000: syntax error, unexpected identifier, expecting ',' or ';' at token "x"
"""
AMD = """\
ERROR: 0:2003: error(#202) No matching overloaded function found: xx
ERROR: error(#273) 1 compilation errors.  No code generated
"""
INTEL = """\
ERROR: 0:2003: 'xx' : no matching overloaded function found
WARNING: 0:1002: 'x' : implicit conversion
"""


@pytest.mark.parametrize(
    ("log", "vendor", "lines", "first"),
    [
        (
            MESA,
            "mesa",
            [(2003, True), (2003, True), (2003, True), (300, False)],
            "no function with name 'xx'",
        ),
        (
            NVIDIA,
            "nvidia",
            [(2003, True), (2003, False), (1002, True)],
            'undefined variable "xx"',
        ),
        (AMD, "amd", [(2003, True)], "No matching overloaded function found: xx"),
        (
            INTEL,
            "intel",
            [(2003, True), (1002, False)],
            "'xx' : no matching overloaded function found",
        ),
    ],
)
def test_logs_of_all_vendors_are_read(
    log: str, vendor: str, lines: list[tuple[int, bool]], first: str
) -> None:
    found = parse_log(log + "\x00")
    assert [(one.line, one.is_error) for one in found] == lines
    assert found[0] == Diagnostic(vendor, 2003, True, first)
    assert {one.vendor for one in found} == {vendor}


def test_mesa_preprocessor_errors_and_preface_lines_are_read() -> None:
    log = "Vertex info\n-----------\n0:1002(1): preprocessor error: Unterminated #if\n"
    assert parse_log(log) == [Diagnostic("mesa", 1002, True, "Unterminated #if")]
    assert parse_log("the driver says nothing of use") == []


def test_numbers_lead_to_file_line_and_neighbours() -> None:
    assert LineMap(TEXT, FILES).locate(2003) == Place(
        "conv2d.glsl",
        3,
        "     2 | float kernel(int n) {\n>    3 |     return xx(n);\n     4 | }",
    )


def test_excerpt_at_the_edge_of_a_file_stays_inside_it() -> None:
    place = LineMap(TEXT, FILES).locate(1001)
    assert place is not None
    assert (place.file, place.line) == ("numerics.glsl", 1)
    assert place.excerpt == ">    1 | float half_of(float x) {\n     2 |     return 0.5 * x;"


def test_generated_lines_are_counted_in_the_whole_source() -> None:
    place = LineMap(TEXT, FILES).locate(300)
    assert place is not None
    assert (place.file, place.line) == ("generated", 13)
    assert place.excerpt.splitlines()[0] == ">   13 | void main() { store(kernel(0)); }"


@pytest.mark.parametrize("number", [0, 999, 1004, 5001, 10**9])
def test_number_outside_the_source_has_no_place(number: int) -> None:
    # 1004 is the directive after a file's last line, which no message names.
    assert LineMap(TEXT, FILES).locate(number) is None


def test_error_names_file_line_instruction_and_writes_the_source(tmp_path: Path) -> None:
    error = shader_error(
        MESA,
        name="conv2d",
        text=TEXT,
        files=FILES,
        instruction="instruction 12, CONV2D 0xa 0xb",
        debug_folder=tmp_path / "debug",
    )
    assert isinstance(error, ShaderError)
    assert isinstance(error, BackendError)
    assert error.message.startswith("conv2d.glsl:3: no function with name 'xx'\n")
    assert ">    3 |     return xx(n);" in error.message
    assert error.origin == "instruction 12, CONV2D 0xa 0xb"
    (written,) = (tmp_path / "debug").iterdir()
    assert written.read_text() == TEXT
    assert str(written) in error.hint
    assert "first of 3 errors" in error.hint


def test_line_offset_of_a_driver_is_taken_off() -> None:
    log = "0(2004) : error C1503: undefined variable"
    error = shader_error(log, name="conv2d", text=TEXT, files=FILES, line_offset=1)
    assert error.message.startswith("conv2d.glsl:3: ")


def test_log_without_lines_is_passed_on_whole() -> None:
    error = shader_error("error: too many\n  buffers", name="conv2d", text=TEXT, files=FILES)
    assert error.message == "conv2d was refused by the driver: error: too many buffers"
    assert error.hint == ""


def test_folder_that_cannot_be_written_hides_no_error(tmp_path: Path) -> None:
    blocker = tmp_path / "debug"
    blocker.write_text("a file where the folder should be")
    error = shader_error(MESA, name="conv2d", text=TEXT, files=FILES, debug_folder=blocker)
    assert "no function with name" in error.message
    assert "full source" not in error.hint
