"""The notebooks' programs on every device: each finds what it should."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from tests.engine.ops.introductions import FOLDER, NOTEBOOKS, cells_of, stored_form, text_of


def test_every_notebook_is_judged() -> None:
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(NOTEBOOKS)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_lies_in_the_tree_without_outputs(name: str, golden: Any) -> None:
    golden(f"../../projects/notebooks/{name}.ipynb", stored_form(text_of(name)))


@pytest.mark.slow
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_finds_what_it_should(name: str, device: str) -> None:
    read, judge = NOTEBOOKS[name]
    gc.collect()
    found: dict[str, Any] = {}
    for number, cell in enumerate(cells_of(name)):
        exec(compile(cell, f"{name}-{number}", "exec"), found)
    judge(eval(read, found))
