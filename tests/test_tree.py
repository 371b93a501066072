"""The shape of the tree: sizes, first sentences, and what no file may hold."""

from __future__ import annotations

import ast
import gc
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tools.modules import Modules
from tools.screen_texts import screen_texts

ROOT = Path(__file__).resolve().parent.parent

FILE_LINES, KERNEL_LINES, FUNCTION_LINES, CLASS_LINES = 600, 150, 70, 400
SMALL_LINES, FOLDER_MODULES = 100, 30
# What there still is of these. They may only fall: a change that leaves fewer lowers the number.
SMALL_FRIENDS = 20
PRIVATE_PEEKS = 138
_PRIVATE = re.compile(r"_(?!_)(?!replace$|asdict$|fields$)")  # Those are public in a NamedTuple.
_OWNERS = {"self", "cls", "super()", "sys", "os"}
CATCH_ALL = {"utils", "util", "helpers", "helper", "misc", "common", "stuff"}
# Spelled in two halves, so that this file does not hold the words.
LEFT_OPEN = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")
TEXT = {".py", ".glsl", ".md", ".toml", ".gbasm"}


def files(
    *suffixes: str, below: tuple[str, ...] = ("studio", "tests", "benchmarks", "tools")
) -> list[Path]:
    found = [path for name in below for path in (ROOT / name).rglob("*") if path.is_file()]
    found += [path for path in ROOT.iterdir() if path.is_file()]
    return sorted(
        path
        for path in found
        if path.suffix in suffixes and not {"golden", "__pycache__"} & set(path.parts)
    )


@pytest.fixture(scope="module", autouse=True)
def no_collections() -> Iterator[None]:
    """Looking for garbage among all syntax trees takes longer than making them."""
    gc.disable()
    yield
    tree_of.cache_clear()
    nodes_of.cache_clear()
    gc.enable()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@cache
def nodes_of(path: Path) -> dict[type[ast.AST], list[ast.AST]]:
    """The nodes of a file by their type, from one walk for all tests."""
    found: dict[type[ast.AST], list[ast.AST]] = defaultdict(list)
    for node in ast.walk(tree_of(path)):
        found[type(node)].append(node)
    return found


def found_in(path: Path, *kinds: type[ast.AST]) -> list[Any]:
    """The nodes of these types in a file."""
    return [node for kind in kinds for node in nodes_of(path).get(kind, ())]


def lines_in(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def too_long(limit: int, *kinds: type[ast.AST]) -> list[str]:
    found = []
    for path in files(".py"):
        for node in found_in(path, *kinds):
            length = node.end_lineno - node.lineno + 1
            if length > limit:
                found.append(f"{shown(path)}:{node.lineno} {node.name}: {length} lines")
    return found


def test_no_python_file_exceeds_the_limit() -> None:
    long = [f"{shown(path)}: {lines_in(path)}" for path in files(".py")]
    assert [line for line in long if int(line.rpartition(" ")[2]) > FILE_LINES] == []


def test_no_kernel_exceeds_the_limit() -> None:
    long = [f"{shown(path)}: {lines_in(path)}" for path in files(".glsl")]
    assert [line for line in long if int(line.rpartition(" ")[2]) > KERNEL_LINES] == []


def test_no_function_exceeds_the_limit() -> None:
    assert too_long(FUNCTION_LINES, ast.FunctionDef, ast.AsyncFunctionDef) == []


def test_no_class_exceeds_the_limit() -> None:
    assert too_long(CLASS_LINES, ast.ClassDef) == []


@cache
def studio_modules() -> Modules:
    return Modules(ROOT, ["studio"])


def test_small_modules_that_only_a_neighbour_imports_do_not_exceed_the_limit() -> None:
    """A part of one class in a file of its own is one more file to open, and no concept more."""
    modules = studio_modules()
    friends = [
        f"{name} <- {importer}: {lines} lines"
        for name, importer in modules.one_importer().items()
        if (lines := lines_in(modules.by_name[name].path)) < SMALL_LINES
    ]
    assert len(friends) <= SMALL_FRIENDS, "\n".join(friends)


def test_no_folder_exceeds_the_limit() -> None:
    """Modules that no import statement names belong to a family, which is found by file names."""
    modules = studio_modules()
    imported = {name for module in modules.by_name.values() for name in modules.imports(module)}
    counts = Counter(modules.by_name[name].folder for name in imported)
    full = [f"{name}: {count}" for name, count in counts.items() if count > FOLDER_MODULES]
    assert full == []


def test_every_module_begins_with_a_sentence() -> None:
    wrong = []
    for path in files(".py", below=("studio", "benchmarks", "tools")):
        text = ast.get_docstring(tree_of(path))
        if not text or not text.split("\n\n")[0].rstrip().endswith((".", ":")):
            wrong.append(shown(path))
    assert wrong == []


def test_the_changelog_file_names_each_kind_of_change_once_a_release() -> None:
    for release in (ROOT / "CHANGELOG.md").read_text("utf-8").split("\n## ")[1:]:
        kinds = re.findall(r"^### (.+)$", release, re.MULTILINE)
        assert sorted(kinds) == sorted(set(kinds)), release.partition("\n")[0]


def test_nothing_is_left_open() -> None:
    found = []
    for path in files(*TEXT, below=("studio", "tests", "benchmarks", "tools", "docs", "projects")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if LEFT_OPEN.search(line):
                found.append(f"{shown(path)}:{number}")
    assert found == []


def test_no_file_has_a_catch_all_name() -> None:
    assert [shown(path) for path in files(".py", ".glsl") if path.stem in CATCH_ALL] == []


def test_nothing_is_declared_but_not_implemented() -> None:
    found = []
    for path in files(".py", below=("studio",)):
        for node in found_in(path, ast.Raise):
            name = node.exc
            name = name.func if isinstance(name, ast.Call) else name
            if isinstance(name, ast.Name) and name.id == "NotImplementedError":
                found.append(f"{shown(path)}:{node.lineno}")
    assert found == []


def test_no_module_of_the_studio_unpickles() -> None:
    found = []
    for path in files(".py", below=("studio",)):
        for node in found_in(path, ast.Import, ast.ImportFrom, ast.keyword):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            elif isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                allowed = not (isinstance(node.value, ast.Constant) and node.value.value is False)
                names = ["pickle"] if allowed else []
            if {name.partition(".")[0] for name in names} & {"pickle", "dill", "shelve", "marshal"}:
                found.append(f"{shown(path)}:{getattr(node, 'lineno', 0)}")
    assert found == []


def test_tables_and_lists_of_records_have_one_item_model_and_one_way_to_be_set_up() -> None:
    models, views = [], []
    for path in files(".py", below=("studio",)):
        for node in found_in(path, ast.ClassDef, ast.Call):
            if isinstance(node, ast.ClassDef):
                bases = [base.value if isinstance(base, ast.Subscript) else base
                         for base in node.bases]  # fmt: skip
                names = {base.id for base in bases if isinstance(base, ast.Name)}
                if any(re.fullmatch(r"Q\w+Model|RecordModel", name) for name in names):
                    models.append(f"{shown(path)}: {node.name}")
                if names & {"QTableView", "QListView"}:
                    views.append(node.name)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                if re.fullmatch(
                    r"Q(Standard|StringList|SortFilter|Identity)\w*Model", node.func.id
                ):
                    models.append(f"{shown(path)}:{node.lineno}")
                if node.func.id in ("QTableView", "QListView", "QTableWidget"):
                    views.append(f"{shown(path)}:{node.lineno}")
    assert models == ["studio/widgets/record_table/model.py: RecordModel"]
    assert sorted(views) == ["RecordList", "RecordTable"]


def peeks_in(path: Path) -> list[str]:
    """Private names of the studio that a test reads, imports or replaces."""
    found = []
    for node in found_in(path, ast.Attribute, ast.ImportFrom, ast.Call):
        names: list[str] = []
        if isinstance(node, ast.Attribute):
            names = [node.attr]
        elif isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            texts = [part for part in node.args[:2] if isinstance(part, ast.Constant)]
            if called in ("setattr", "getattr"):
                names = [str(text.value).rpartition(".")[2] for text in texts]
        private = [name for name in names if _PRIVATE.match(name)]
        if private and isinstance(node, ast.Attribute) and ast.unparse(node.value) in _OWNERS:
            continue
        found += [f"{shown(path)}:{node.lineno} {name}" for name in private]
    return found


def test_private_names_in_tests_do_not_exceed_the_limit() -> None:
    """A test that needs what no caller can see breaks with each change of structure."""
    peeks = [line for path in files(".py", below=("tests",)) for line in peeks_in(path)]
    assert len(peeks) <= PRIVATE_PEEKS, "\n".join(peeks)


def test_every_test_file_mirrors_a_place_in_the_studio() -> None:
    tests = ROOT / "tests"
    free = {"conformance", "golden", "recorded", "end_to_end", "journeys", "peers", "fuzz", "soak"}
    wrong = []
    for folder in {path.parent for path in tests.rglob("test_*.py")}:
        inside = folder.relative_to(tests)
        mirrored = (ROOT / "studio" / inside, ROOT / inside)
        if not free & set(inside.parts) and not any(place.is_dir() for place in mirrored):
            wrong.append(shown(folder))
    assert wrong == []


GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")


def replaced_words(heading: str) -> dict[str, str]:
    """The words of a section of the glossary, and what to write in their place."""
    section = GLOSSARY.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([a-z, ]+) \| ([^|]+?) \|", section, re.MULTILINE)[1:]
    return {word: instead for words, instead in rows for word in words.split(", ")}


def identifiers(path: Path) -> Iterator[str]:
    """Names of modules, classes, functions, arguments and attributes, each where it is made."""
    yield path.stem
    for node in ast.walk(tree_of(path)):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def words_of(identifier: str) -> list[str]:
    """The words of a name in snake case or with capitals: `MetricsReader`, `metrics_reader`."""
    found = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", identifier)
    return [word.lower() for word in found]


@pytest.mark.slow
def test_no_identifier_has_a_word_that_was_replaced() -> None:
    replaced = replaced_words("Words that are not used")
    assert len(replaced) > 15
    found = {
        f"{shown(path)}: {name}: {word}, write {replaced[word]}"
        for path in files(".py", below=("studio", "benchmarks", "tools"))
        for name in identifiers(path)
        for word in words_of(name)
        if word in replaced
    }
    assert sorted(found) == []


@pytest.mark.slow
def test_every_word_of_the_glossary_is_in_use() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", GLOSSARY, re.MULTILINE)
    used = {
        word
        for path in files(".py", below=("studio",))
        for name in identifiers(path)
        for word in (name.lower(), *words_of(name))
    }
    assert len(listed) > 10
    assert [word for word in listed if word.lower() not in used] == []


@pytest.mark.slow
def test_no_text_on_the_screen_has_a_word_that_was_replaced() -> None:
    names = replaced_words("Words that are not used")
    replaced = names | replaced_words("Words that are not used on the screen")
    assert len(replaced) > len(names) + 5
    pattern = re.compile(rf"\b({'|'.join(replaced)})\b", re.IGNORECASE)
    found = [
        f"{each}\n    not {word}, but {replaced[word.lower()]}"
        for each in screen_texts(ROOT)
        if each.kind != "alias"  # What people search for, in any words.
        for word in pattern.findall(re.sub(r"{[^}]*}", "", each.text))
    ]
    assert found == [], "\n".join(found)
