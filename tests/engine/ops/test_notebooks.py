"""A real kernel runs the notebooks, shows tensors and listings, and helps who types."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.engine.ops.introductions import FOLDER, NOTEBOOKS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
SECONDS = 300
COLOUR = re.compile("\x1b\\[[0-9;]*m")


def environment(folder: Path) -> dict[str, str]:
    """What a kernel is started with: our tree, and no settings of the user's."""
    places = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    return {
        **os.environ,
        **{name: str(folder / name.lower()) for name in places},
        "PYTHONPATH": str(ROOT),
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where kernels run, and where they and we look for settings."""
    found = tmp_path_factory.mktemp("kernel")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(found).items():
            patch.setenv(name, value)
        yield found


class Kernel:
    """A kernel that is asked as an editor asks it."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def shown(self, code: str) -> dict[str, str]:
        """What a cell shows, by kind."""
        bundles: list[dict[str, str]] = []
        errors: list[str] = []

        def hear(message: Any) -> None:
            if message["msg_type"] == "execute_result":
                bundles.append(message["content"]["data"])
            elif message["msg_type"] == "error":
                errors.append("\n".join(message["content"]["traceback"]))

        self._client.execute_interactive(code, timeout=SECONDS, output_hook=hear)
        assert not errors, errors[0]
        return bundles[-1] if bundles else {}

    def help_of(self, code: str) -> str:
        """What is shown about the name before the cursor."""
        found = self._client.inspect(code, len(code), reply=True, timeout=SECONDS)["content"]
        assert found["found"], code
        return COLOUR.sub("", found["data"]["text/plain"])

    def completed(self, code: str) -> dict[str, str]:
        """What may stand behind the cursor, with the signature of each."""
        found = self._client.complete(code, len(code), reply=True, timeout=SECONDS)["content"]
        told = found["metadata"]["_jupyter_types_experimental"]
        signatures = {each["text"]: each.get("signature", "") for each in told}
        return {name: signatures.get(name, "") for name in found["matches"]}


@pytest.fixture(scope="module")
def kernel(folder: Path) -> Iterator[Kernel]:
    """A kernel in which ``ops`` is imported."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(
        startup_timeout=SECONDS, kernel_name="python3", cwd=str(folder)
    )
    try:
        found = Kernel(client)
        # Signatures are left out of completions that take longer than this, by default 400 ms.
        found.shown(f"%config IPCompleter.jedi_compute_type_timeout={SECONDS * 1000}")
        found.shown("import numpy as np\nfrom studio.engine import ops\nops.backend('cpu')")
        yield found
    finally:
        client.stop_channels()
        manager.shutdown_kernel()


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_runs_in_a_kernel(name: str, folder: Path) -> None:
    import nbclient
    import nbformat

    read, judge = NOTEBOOKS[name]
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    cells = list(notebook.cells)
    first = nbformat.v4.new_code_cell("from studio.engine import ops\nops.backend('cpu');")
    last = nbformat.v4.new_code_cell(f"print({read})")
    notebook.cells = [first, *cells, last]
    nbclient.NotebookClient(
        notebook, timeout=SECONDS, startup_timeout=SECONDS, kernel_name="python3"
    ).execute(cwd=str(folder))
    judge(ast.literal_eval(last.outputs[0].text))
    # What a notebook shows is what a person would see: no warning, and tables for tensors.
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    assert not [each for each in outputs if each.get("name") == "stderr"]
    assert any("glassbox-" in each.get("data", {}).get("text/html", "") for each in outputs)


class Table(HTMLParser):
    """The text of a table, cell by cell, and every tag and style in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self.styles = ""
        self.told = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.styles += "".join(value or "" for name, value in attrs if name == "style")
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows:
            self.rows[-1][-1] += data
        else:
            self.told += data


def shown_table(kernel: Kernel, code: str) -> Table:
    bundle = kernel.shown(code)
    assert bundle["text/plain"]
    found = Table(bundle["text/html"])
    # Colours are the notebook's own, in light and in dark.
    assert "color" not in found.styles.replace("color:inherit", "")
    assert "background" not in found.styles
    assert "script" not in found.tags
    return found


def test_a_tensor_is_shown_with_type_range_and_numbers(kernel: Kernel) -> None:
    found = shown_table(kernel, "ops.tensor([[1.0, 2.5], [3.0, 4.0]]) * 2")
    assert found.told == "float32[2,2], 2 to 8"
    assert found.rows == [["2", "5"], ["6", "8"]]


def test_numbers_that_are_none_are_counted(kernel: Kernel) -> None:
    found = shown_table(kernel, "ops.tensor([1.0, np.nan, 3.0, -np.inf])")
    assert found.told == "float32[4], 1 to 3, 2 not finite"
    assert found.rows == [["1", "nan", "3", "-inf"]]


@pytest.mark.parametrize(
    ("code", "told", "rows"),
    [
        ("ops.tensor(7)", "int32[], 7 to 7", [["7"]]),
        ("ops.tensor([True, False])", "bool[2], False to True", [["True", "False"]]),
        ("ops.tensor(np.zeros((0, 3)))", "float32[0,3]", []),
        ("ops.tensor(np.zeros((3, 0)))", "float32[3,0]", []),
        ("ops.tensor([np.nan])", "float32[1], 1 not finite", [["nan"]]),
        (
            "ops.tensor(np.arange(8).reshape(2, 2, 2))",
            "int32[2,2,2], 0 to 7",
            [["[0,0]", "0", "1"], ["[0,1]", "2", "3"], ["[1,0]", "4", "5"], ["[1,1]", "6", "7"]],
        ),
    ],
)
def test_other_types_and_shapes_are_shown(
    code: str, told: str, rows: list[list[str]], kernel: Kernel
) -> None:
    found = shown_table(kernel, code)
    assert (found.told, found.rows) == (told, rows)


def test_a_huge_tensor_is_shortened(kernel: Kernel) -> None:
    code = "ops.tensor(np.arange(2_000_000).reshape(1000, 2000))"
    found = shown_table(kernel, code)
    assert found.told == "int32[1000,2000], 0 to 1999999"
    assert len(found.rows) == 13
    assert found.rows[0] == [*(str(n) for n in range(12)), "…"]
    assert found.rows[-1] == ["…"]
    assert len(kernel.shown(code)["text/html"]) < 5_000


def test_what_users_write_is_text_and_no_markup(kernel: Kernel) -> None:
    found = shown_table(kernel, "ops.variable([1.0], name='<script>alert(1)</script>')")
    assert found.told == "<script>alert(1)</script>: float32[1], 1 to 1"
    kernel.shown("w = ops.variable([1.0], name='<script>'); w.dispose()")
    gone = shown_table(kernel, "w")
    assert "<script>" in gone.told
    assert "disposed" in gone.told


def test_a_listing_is_shown_with_lines_of_the_cell(kernel: Kernel) -> None:
    kernel.shown("def work():\n    x = ops.tensor([[1.0, 2.0]])\n    return ops.exp(x) < 3")
    found = shown_table(kernel, "ops.listing(work)")
    assert found.rows[0] == ["#", "section", "instruction", "writes", "from"]
    number, section, line, writes, place = found.rows[1]
    assert (number, section, writes) == ("0", "forward", "float32[1,2]")
    assert line.startswith("EXP ")
    assert place.endswith(":3")
    assert "white-space:pre" in found.styles


def test_a_long_listing_is_shortened(kernel: Kernel) -> None:
    kernel.shown(
        "def long():\n    x = ops.tensor([1.0])\n    for _ in range(1200):\n"
        "        x = ops.sin(x)\n    return x"
    )
    found = shown_table(kernel, "ops.listing(long)")
    assert len(found.rows) == 202
    assert found.rows[-1] == ["… and 1,000 more lines; print() shows them all"]


def test_help_shows_signature_and_documentation(kernel: Kernel) -> None:
    told = kernel.help_of("ops.conv2d")
    assert "padding='valid'" in told
    assert "Convolution of images with kernels" in told
    assert "images [N, height, width, in]" in told
    assert "Adds two tensors" in kernel.help_of("ops.add")
    assert "numbers: a number, a list of lists" in kernel.help_of("ops.tensor")


def test_names_are_completed_with_their_signatures(kernel: Kernel) -> None:
    found = kernel.completed("ops.conv")
    assert "x, kernel" in found["conv2d"]
    assert {"conv1d", "conv2d"} <= set(found)
    every = kernel.completed("ops.")
    assert {"add", "tidy", "variable_grads", "tensor", "listing"} <= set(every)
    assert not [name for name in every if name.startswith("_")]


def test_methods_of_a_tensor_are_completed(kernel: Kernel) -> None:
    kernel.shown("x = ops.tensor([1.0])")
    assert {"sum", "numpy", "reshape", "shape"} <= set(kernel.completed("x."))
    assert "Its numbers, in an array of your own" in kernel.help_of("x.numpy")
    told = kernel.help_of("x.sum")
    assert "x.sum(axis=None, keepdims=False)" in told
    assert "Sum along dimensions" in told
