"""Every instruction can run, and kernel files keep to the rules of the README beside them."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

import pytest

import studio.engine.isa.ops  # noqa: F401
from studio.engine.gl.kernels.families import all_variants
from studio.engine.gl.shader.source import assemble
from studio.engine.isa.instruction import GradInstruction, Instruction, all_instructions

ROOT = Path(str(resources.files("studio.engine.gl")))
FILES = sorted(
    [*(ROOT / "glsl" / "kernels").rglob("*.glsl"), *(ROOT / "glsl" / "lib").glob("*.glsl")]
)
MARKERS = {"FUSE", "END"}
GLSL_DROPS_NAN = re.compile(r"(?<![\w.])(clamp|tanh|pow|sign)\s*\(")


def _stated(cls: type[Instruction]) -> bool:
    """Whether an instruction states a formula, slopes for a gradient's, or a rule."""
    if issubclass(cls, GradInstruction):
        return cls.forward.meaning is not None and bool(cls.forward.meaning.slopes)
    return cls.meaning is not None


ATOMIC = {"count_bad", "count_apart", "last_group", "scatter_marks"}
"""Files whose whole numbers come out alike in whatever order invocations change them."""


@pytest.mark.parametrize("cls", all_instructions(), ids=lambda cls: cls.mnemonic)
def test_every_instruction_has_a_formula_or_else_a_variant(cls: type[Instruction]) -> None:
    if cls.mnemonic not in MARKERS:
        assert _stated(cls) != (cls.mnemonic in all_variants())


def test_variants_are_of_instructions_that_exist() -> None:
    assert set(all_variants()) <= {cls.mnemonic for cls in all_instructions()}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_kernel_file_keeps_the_rules(path: Path) -> None:
    text = path.read_text(encoding="ascii")
    lines = text.splitlines()
    assert lines[0].startswith("// ")
    assert len(lines) <= 150
    assert "atomic" not in text or path.stem in ATOMIC


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_kernel_file_uses_functions_that_keep_nan(path: Path) -> None:
    if path.stem == "numerics":
        return
    code = re.sub(r"//.*", "", path.read_text(encoding="ascii"))
    # Whole-number arguments cannot be NaN.
    found = [m[0] for m in GLSL_DROPS_NAN.finditer(code) if not _is_integer_call(code[m.start() :])]
    assert found == []


def _is_integer_call(text: str) -> bool:
    inside = text[text.index("(") + 1 : text.index(";")]
    return "." not in inside and re.fullmatch(r"[\w\s,+\-*()%/]*", inside) is not None


def test_shared_memory_is_made_visible_at_every_barrier() -> None:
    source = assemble("probe", '#include "group_sum.glsl"\nvoid main() {}', [], local=(8, 1, 1))
    assert source.text.count("barrier();") == source.text.count("memoryBarrierShared(); barrier();")
    assert source.text.count("barrier();") == 3
