"""Files of a right form with wild values are loaded, or refused in one clean sentence."""

from __future__ import annotations

import re
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from studio.engine.compiler.verify import verify
from studio.engine.core.errors import FormatError, VerifyError, quoted
from studio.engine.cpu.backend import CpuBackend
from studio.engine.formats import safetensors
from studio.engine.formats.gbasm import load_gbasm
from studio.engine.formats.gbi import gbi_bytes, load_gbi
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.npy import load_npy
from studio.engine.isa.text import format_program, parse_program
from studio.engine.train.network.execute import execute
from tests import hostile

HUGE = 4611686018427387904
HEAD = '.glassbox 1\n.program "p" infer\n'


def tensors_file(header: bytes, data: bytes = bytes(20)) -> bytes:
    return len(header).to_bytes(8, "little") + header + data


def npy_file(descr: str, fortran: str, shape: str, data: bytes = b"") -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n"
    text = header.encode("latin-1", "replace")
    return b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text + data


@pytest.mark.slow
def test_values_of_a_safetensors_header() -> None:
    header = {
        "__metadata__": {"a": "b"},
        "w": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
        "z": {"dtype": "F32", "shape": [0, 3], "data_offsets": [16, 16]},
        "b": {"dtype": "BF16", "shape": [2], "data_offsets": [16, 20]},
    }
    files = (tensors_file(text) for text in hostile.texts(header))
    assert hostile.refusals(safetensors.load, files) > 500


@pytest.mark.parametrize("dtype", ["F32", "BF16", "U8", "BOOL", "F64"])
@pytest.mark.parametrize("shape", [[0, HUGE], [HUGE, 0], [0, HUGE, HUGE], [1 << 33, 0, 1 << 20]])
def test_a_tensor_without_elements_has_no_impossible_axis(dtype: str, shape: list[int]) -> None:
    header = f'{{"w":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[0,0]}}}}'.encode()
    with pytest.raises(FormatError, match="no elements and an impossible shape"):
        safetensors.load(tensors_file(header, b""))
    with pytest.raises(FormatError, match="no elements and an impossible shape"):
        load_npy(npy_file("'<f4'", "False", str(tuple(shape))))


def test_values_of_an_npy_header() -> None:
    shapes = ["()", "(0,)", f"(0, {HUGE})", f"({HUGE}, 0)", "(0, 9999999999999999999)", "(3)",
              "(" + "0," * 40 + ")", "(-1,)", "(1.5,)", "('x',)", "None", "(2L,)", "(4, 1)",
              "(18446744073709551616,)", "(\u0663,)"]  # fmt: skip
    descrs = ["'<f4'", "'>f8'", "'|b1'", "'|O'", "'<U3'", "'<c8'", "'f'", "[('a','<f4')]", "1",
              "'<f16'", "'|V8'", "'<M8[ns]'", "'\x1b[31m'", "'" + "x" * 40 + "'"]  # fmt: skip
    files = [
        npy_file(descr, fortran, shape, data)
        for descr in descrs
        for fortran in ("True", "False", "1", "None")
        for shape in shapes
        for data in (b"", bytes(16))
    ]
    limits = Limits(text_chars=10)
    assert hostile.refusals(lambda data: load_npy(data, limits), files) < len(files)


@pytest.mark.parametrize(
    "line",
    [
        r'.meta "key" "\ud800"',
        r'.meta "\udfff" "value"',
        r'.tensor 0x1 "\ud83d" float32 [N] input',
        r'.tensor 0x1 "x" float32 [N] input layer="\udc00x"',
        r'.tensor 0x1 "x" float32 [N] param init="\ud800"',
    ],
)
def test_half_of_a_surrogate_pair_is_no_text_in_a_listing(line: str) -> None:
    with pytest.raises(FormatError, match="half of a surrogate pair"):
        parse_program(f"{HEAD}{line}\n.end\n")
    whole = re.sub(r"\\u[0-9a-f]{4}", r"\\ud83d\\ude00", line)
    program = parse_program(f"{HEAD}{whole}\n.end\n")
    assert load_gbi(gbi_bytes(program)).program == program


def test_a_constant_beyond_float32_is_refused_in_a_listing() -> None:
    line = '.tensor 0x1 "x" float32 [1] const value=1e300'
    with pytest.raises(FormatError, match="must fit float32: got 1e"):
        parse_program(f"{HEAD}{line}\n.end\n")


def test_a_long_string_in_a_listing_costs_a_few_bytes_a_character() -> None:
    size = 4 * MIB
    text = f'{HEAD}.meta "k" "{"a" * size}"\n.end\n'.encode()
    tracemalloc.start()
    try:
        program = load_gbasm(text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(program.meta["k"]) == size
    assert peak < 10 * size


@pytest.mark.slow
def test_a_line_of_a_listing_costs_less_than_a_kilobyte() -> None:
    count = 4000
    tensors = "".join(
        f'.tensor {i:#x} "t{i}" float32 [N,16] activation layer="l{i}"\n' for i in range(count)
    )
    lines = "".join(f"ADD {i:#x} 0x1 0x2 1 0.5  ; @l{i}\n" for i in range(count))
    text = f"{HEAD}{tensors}.section forward\n{lines}.end\n"
    tracemalloc.start()
    try:
        program = parse_program(text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(program) == len(program.tensors) == count
    assert peak < 1000 * 2 * count


@pytest.mark.parametrize(
    "line", ['ADD 0x1 0x1 0x1 1 1 ; "a;b" @c', '.meta "a;b" "c\\";d" ; "x', '; "only" a comment']
)
def test_a_semicolon_in_a_string_begins_no_comment(line: str) -> None:
    body = '.tensor 0x1 "x" float32 [N,2] input\n.section forward\nADD 0x1 0x1 0x1 1 1\n'
    program = parse_program(f"{HEAD}{body}{line}\n.end\n")
    assert parse_program(format_program(program)) == program
    assert program.meta.get("a;b", 'c";d') == 'c";d'
    assert len(program) == 1 + line.startswith("ADD")


@pytest.mark.parametrize("dtype", ["float16", "int32", "uint8", "bool"])
@pytest.mark.parametrize("name", ["w", "b"])
def test_a_product_of_two_element_types_is_no_program(dtype: str, name: str) -> None:
    listing = LISTING.replace(f'"{name}" float32', f'"{name}" {dtype}')
    assert listing != LISTING
    with pytest.raises(VerifyError, match="one floating-point type"):
        verify(parse_program(listing), after="reading")


LISTING = """.glassbox 1
.program "p" infer
.tensor 0x1 "x" float32 [N,8,8,16] input
.tensor 0x2 "w" float32 [3,3,16,16] param
.tensor 0x3 "b" float32 [16] param
.tensor 0x4 "y" float32 [N,8,8,16] activation
.input 0x1
.output 0x4
.section forward
CONV2D 0x2 0x3 0x1 0x4 1 1 1 1 1 1
.end
"""


def test_a_program_in_float16_runs_without_compiled_loops(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    program = parse_program(LISTING.replace("float32", "float16"))
    weights = {
        "w": rng.normal(size=(3, 3, 16, 16)).astype(np.float16),
        "b": np.zeros(16, np.float16),
    }
    path = tmp_path / "half.gbi"
    path.write_bytes(gbi_bytes(program, weights))
    x = rng.normal(size=(2, 8, 8, 16)).astype(np.float16)
    backend = CpuBackend()
    try:
        found = execute(path, x, backend)
    finally:
        backend.close()
    window = x[:, 2:5, 2:5].astype(np.float64).reshape(2, -1)
    expected = window @ weights["w"].astype(np.float64).reshape(-1, 16)
    np.testing.assert_allclose(found[:, 3, 3], expected, atol=0.3)


def test_what_is_shown_of_a_value_is_short_and_clean() -> None:
    assert quoted("abc") == "'abc'"
    assert quoted("gr\u00f6\u00dfe") == "'gr\u00f6\u00dfe'"
    assert quoted("\x1b[31m\u202e\ud800") == r"'\x1b[31m\u202e\ud800'"
    assert len(quoted("x" * 10**6)) < 70
    assert len(quoted(["x" * 1000] * 1000)) < 70
    assert quoted(10**5000) == "a int"
    error = FormatError("m\x1b[0m", who="a\nb\u202e", hint="h\ud800", origin="o\r")
    assert str(error) == "[a\\nb\\u202e] m\\x1b[0m (o\\r)\n  hint: h\\ud800"
    assert len(str(FormatError("y" * 10**6))) < 5000


def test_warnings_that_name_our_source_do_not_reach_the_user() -> None:
    code = (
        "import warnings, studio.__main__ as m\n"
        "m.run_command = lambda *_: warnings.warn('overflow', RuntimeWarning) or 0\n"
        "m.main(['--version'])"
    )
    words = [sys.executable, "-c", code]
    told = subprocess.run(words, capture_output=True, text=True, check=True)
    assert told.stderr == ""
    asked = subprocess.run(
        [words[0], "-W", "default", *words[1:]], capture_output=True, text=True, check=True
    )
    assert "overflow" in asked.stderr
