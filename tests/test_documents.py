"""The documents name files, folders, modules, commands and pages that exist."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TOP = ("studio", "tests", "docs", "benchmarks", "tools", "projects", "requirements")
SOURCES = (".py", ".glsl", ".md", ".toml")
PAGES = sorted(
    path
    for found in (ROOT.glob("*.md"), *((ROOT / name).rglob("*.md") for name in TOP))
    for path in found
    if path.name != "CHANGELOG.md" and "golden" not in path.parts
)
FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`(\*\* \(new\))?")
LINK = re.compile(r"\]\(([^)\s]+)\)")
COMMAND = re.compile(r"python3? -m ((?:tests|tools|benchmarks|studio)[\w.]*)")
SYMBOL = re.compile(r"`(\w+)`(?:\*\*)?\s\(`([\w/]+\.py)`\)")
IMPORT = re.compile(r"^ *from (studio[\w.]*) import ([\w, ]+?)(?:  #.*)?$", re.MULTILINE)
MODULE = re.compile(r"(?:studio|tests|tools|benchmarks)(?:\.(?!json\b)\w+)+")


@cache
def everything() -> tuple[str, ...]:
    """Files and folders of the tree, from its root."""
    found = [path for path in ROOT.iterdir() if path.is_file()]
    found += [path for name in TOP for path in ((ROOT / name), *(ROOT / name).rglob("*"))]
    return tuple(
        path.relative_to(ROOT).as_posix() for path in found if "__pycache__" not in path.parts
    )


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def alternatives(name: str) -> list[str]:
    """``a/{b,c}.py`` is two names."""
    found = re.search(r"\{([^{}]*)\}", name)
    if found is None:
        return [name]
    return [
        whole
        for part in found[1].split(",")
        for whole in alternatives(name[: found.start()] + part.strip() + name[found.end() :])
    ]


def looks_like_a_path(span: str) -> bool:
    if not re.fullmatch(r"[\w.*<>{}, /-]+", span) or " " in span.replace(", ", ","):
        return False
    return Path(span).suffix in SOURCES or (span.partition("/")[0] in TOP and "/" in span)


def paths_in(page: Path) -> Iterator[str]:
    made = set()
    for span, is_new in SPAN.findall(FENCE.sub("", text_of(page))):
        if is_new:
            made |= {span, span.rpartition("/")[2]}
        elif looks_like_a_path(span) and span not in made:
            yield from alternatives(span)


def places_of(name: str, page: Path) -> list[str]:
    """The files and folders that a name in a page can mean."""
    pattern = re.sub(r"<[^<>]*>", "*", name).rstrip("/")
    folder = page.parent.relative_to(ROOT).as_posix()
    for whole in (pattern, f"{folder}/{pattern}"):
        found = [path for path in everything() if fnmatch(path, whole)]
        if found:
            return found[:1]
    below = "" if folder in (".", "docs") else f"{folder}/"
    ends = [
        path for path in everything() if path.startswith(below) and fnmatch(path, f"*/{pattern}")
    ]
    return ends[:1] if "*" in pattern else ends


def imported_in(module: Path) -> set[str]:
    """What a module imports at its top."""
    return {
        alias.asname or alias.name
        for node in ast.parse(text_of(module)).body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }


def defined_in(module: Path) -> set[str]:
    """What a module defines at its top."""
    found: set[str] = set()
    body = ast.parse(text_of(module)).body
    for node in (
        *body,
        *(inner for each in body if isinstance(each, ast.If) for inner in each.body),
    ):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def module_exists(dotted: str) -> bool:
    path = ROOT / dotted.replace(".", "/")
    if path.is_dir() or path.with_suffix(".py").is_file():
        return True
    owner = path.parent
    for module in (owner.with_suffix(".py"), owner / "__init__.pyi", owner / "__init__.py"):
        if module.is_file() and path.name in defined_in(module) | imported_in(module):
            return True
    return False


def leads_somewhere(link: str, page: Path) -> bool:
    """Whether a relative link has its file and, behind ``#``, its heading."""
    name, _, heading = link.partition("#")
    file = page.parent / name if name else page
    if not heading or not file.is_file():
        return file.exists()
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text_of(file)), re.MULTILINE)
    return heading in {re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings}


def first_tasks() -> list[tuple[str, str]]:
    """The ten tasks for newcomers: the number, and the cell that says where each begins."""
    text = text_of(ROOT / "CONTRIBUTING.md").partition("## Ten first tasks")[2]
    return re.findall(r"^\| (\d+) \| .+? \| (`.+?) \| ", text, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_each_path_in_a_document_means_one_place_in_the_tree(page: Path) -> None:
    found = {name: places_of(name, page) for name in paths_in(page)}
    assert {name: places for name, places in found.items() if len(places) != 1} == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_each_module_and_link_in_a_document_exists(page: Path) -> None:
    text = text_of(page)
    plain = FENCE.sub("", text)
    commands = [
        name
        for name in COMMAND.findall(text)
        if not (ROOT / name.replace(".", "/")).with_suffix(".py").is_file()
        and not (ROOT / name.replace(".", "/") / "__main__.py").is_file()
    ]
    modules = [
        span
        for span, _ in SPAN.findall(plain)
        if MODULE.fullmatch(span) and not module_exists(span)
    ]
    links = [
        link
        for link in LINK.findall(plain)
        if "://" not in link and not leads_somewhere(link, page)
    ]
    assert (commands, modules, links) == ([], [], [])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_each_name_with_its_file_is_defined_there(page: Path) -> None:
    named = SYMBOL.findall(FENCE.sub("", text_of(page)))
    places = {(name, path): places_of(path, page) for name, path in named}
    assert [
        (name, path)
        for (name, path), found in places.items()
        if len(found) != 1 or name not in defined_in(ROOT / found[0])
    ] == []


@pytest.mark.parametrize("package", ["studio", "studio.engine"])
def test_the_architecture_page_shows_the_layers_that_are_checked(package: str) -> None:
    project = tomllib.loads(text_of(ROOT / "pyproject.toml"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (layers,) = [each["layers"] for each in contracts if each.get("containers") == [package]]
    assert f"    {' → '.join(layers)}\n" in text_of(ROOT / "docs" / "architecture.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_each_import_in_an_example_works(page: Path) -> None:
    text = text_of(page)
    made = {path.removesuffix(".py").replace("/", ".") for path, new in SPAN.findall(text) if new}
    assert [
        f"{module}: {name}"
        for block in FENCE.findall(text)
        for module, names in IMPORT.findall(block)
        if module not in made
        for name in names.split(", ")
        if not module_exists(f"{module}.{name.partition(' as ')[0]}")
    ] == []


@pytest.mark.parametrize("package", ["studio.engine", "studio.session"])
def test_the_architecture_page_says_what_each_package_holds(package: str) -> None:
    folder = ROOT / package.replace(".", "/")
    rooms = {path.name for path in folder.iterdir() if (path / "__init__.py").is_file()}
    cells = re.findall(r"^\| ([^|]+) \|", text_of(ROOT / "docs" / "architecture.md"), re.MULTILINE)
    assert rooms - {name for cell in cells for name in re.findall(r"`(\w+)`", cell)} == set()


def test_the_guide_names_texts_that_are_on_the_screen() -> None:
    guide = text_of(ROOT / "docs" / "guide.md")
    named = re.findall(r"(?<![*\w])\*([A-Z][^*]+)\*(?!\*)", " ".join(guide.split()))
    parts = {part for name in named for part in re.split(r" > | → | …", name) if part}
    assert len(parts) > 20
    sources = "\n".join(text_of(path) for path in sorted((ROOT / "studio").rglob("*.py")))
    assert sorted(part for part in parts if part not in sources) == []


def test_each_first_task_begins_at_a_path_and_symbol_that_exist() -> None:
    tasks = first_tasks()
    assert [int(number) for number, _ in tasks] == list(range(1, 11))
    wrong = []
    for number, cell in tasks:
        for place in cell.split("; "):
            path, _, symbol = place.partition(": ")
            file = ROOT / path.strip("`")
            if not file.is_file():
                wrong.append(f"{number}: {path}")
            elif file.suffix == ".py" and symbol.strip("`") not in defined_in(file):
                wrong.append(f"{number}: {place}")
    assert wrong == []
