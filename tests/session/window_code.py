"""Calls in the code of the window, and where they stand."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import studio as package

ROOT = Path(package.__file__).parent
FRONT = ("ui", "graph_editor", "instruction_view", "widgets", "session")


def module(path: Path) -> str:
    """How a file is called here."""
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name


def calls() -> Iterator[tuple[str, ast.Call]]:
    """Every call in the window's code, with the module and the method it stands in."""
    for package_name in FRONT:
        for path in sorted((ROOT / package_name).rglob("*.py")):
            for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(function, ast.FunctionDef):
                    site = f"{module(path)}:{function.name}"
                    for node in ast.walk(function):
                        if isinstance(node, ast.Call):
                            yield site, node


def is_task(call: ast.Call) -> bool:
    made = call.func
    if not (isinstance(made, ast.Attribute) and made.attr == "start"):
        return False
    owner = made.value
    name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
    return name.strip("_") == "tasks"
