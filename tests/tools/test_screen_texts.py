"""The list of screen texts: what of a module is shown, as what, and what is not."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from tools import screen_texts
from tools.commits import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PANE = "studio/ui/panes/example/pane.py"


def found(source: str, place: str = PANE) -> list[tuple[str, str]]:
    return [(each.kind, each.text) for each in screen_texts.texts_of(dedent(source), place)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('button.setToolTip("Fits it to the window")', ("tool tip", "Fits it to the window")),
        ('field.setPlaceholderText("Filter")', ("placeholder", "Filter")),
        ('notices.notify(f"Wrote {path.name}", "", "Undo")', ("notice", "Wrote {path.name}")),
        ('Action("a.b", "Go there", "Jump to it.", menu="View")', ("action", "Go there")),
        ('Action("a.b", "Go there", "Jump to it.", menu="View")', ("description", "Jump to it.")),
        ('raise DataError(f"no row {row}", hint="add one")', ("error", "no row {row}")),
        ('raise DataError(f"no row {row}", hint="add one")', ("hint", "add one")),
        ('units = integer("Outputs.", effect="More of it.")', ("effect", "More of it.")),
        ('self._line.say("one part", "of two\\n  lines")', ("text", "of two ⏎ lines")),
        ('WORDS = {"a": "Not there yet"}', ("text", "Not there yet")),
        ('label.setText("yes indeed" if good else "not at all")', ("label", "not at all")),
        ('return ("written in "\n        f"{count} parts")', ("text", "written in {count} parts")),
    ],
)  # fmt: skip
def test_shown_texts_are_listed_with_their_kind(source: str, expected: tuple[str, str]) -> None:
    if source.startswith("return"):
        source = f"def words(count):\n    {source}"
    assert expected in found(source)


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring of several words."""',
        '_LOG.warning("the disk was full: %s", error)',
        'raise ValueError("a mistake of the programmer")',
        'widget.setStyleSheet("color: red; border none")',
        'widget.setObjectName("some object name")',
        'kind: "Some Type Name" = None',
        'if word == "some other word": pass',
        'table["key of words"] = 1',
        'PATTERN = re.compile("one two three")',
        'NAME = "plots"',
        'FOLDER = "studio/ui panes"',
        'Window = "QWidget | None"',
    ],
)
def test_what_is_for_programs_is_left_out(source: str) -> None:
    assert found(source) == []


def test_outside_the_window_only_known_calls_count() -> None:
    source = 'raise DataError("no rows")\nTEXT = "some words of GLSL"\n'
    assert found(source, "studio/engine/gl/example.py") == [("error", "no rows")]


LAYERS = "studio/engine/layers/example.py"


def test_descriptions_that_classes_give_of_themselves_are_listed() -> None:
    source = '''
    class Mirror(Layer):
        """Turns samples over.

        A second
        paragraph.
        """
    class _Hidden(Layer):
        """Not shown."""
    class Row:
        """A record of the module."""
    '''
    expected = [("description", "Turns samples over."), ("description", "A second paragraph.")]
    assert found(source, LAYERS) == expected
    assert found(source, "studio/engine/optim/example.py") == expected[:1]
    assert found(source, PANE) == []


def test_sections_for_programmers_are_not_shown() -> None:
    source = '''
    class Mirror(Layer):
        """Turns samples over.

        Attributes:
            axis: which.
        """
    '''
    assert found(source, LAYERS) == [("description", "Turns samples over.")]


def test_a_command_is_described_by_its_docstring(tmp_path: Path) -> None:
    commands = tmp_path / "studio/cli/commands"
    commands.mkdir(parents=True)
    (tmp_path / "studio/cli/app.py").write_text('COMMANDS = {"go": ("going", "go_on")}\n')
    (commands / "going.py").write_text(
        'def go_on():\n    """Goes on.\n\n    To the end.\n    """\n'
        'def other():\n    """Not one."""\n'
    )
    texts = [str(each) for each in screen_texts.screen_texts(tmp_path)]
    assert texts == [
        "studio/cli/commands/going.py:2  [command line]  Goes on.",
        "studio/cli/commands/going.py:4  [command line]  To the end.",
    ]


def test_headings_are_listed_and_code_is_not() -> None:
    page = "# A page\n\nWords.\n\n```\n# a comment\n```\n\n## A part\n"
    assert [(each.place, each.text) for each in screen_texts.headings_of(page, "docs/a.md")] == [
        ("docs/a.md:1", "A page"),
        ("docs/a.md:9", "A part"),
    ]


def test_places_are_those_of_the_tree(tmp_path: Path) -> None:
    module = tmp_path / "studio/ui/one.py"
    module.parent.mkdir(parents=True)
    module.write_text('X = 1\ny.setText("Some words")\n', encoding="utf-8")
    (each,) = screen_texts.screen_texts(tmp_path)
    assert str(each) == "studio/ui/one.py:2  [label]  Some words"


def test_the_command_prints_the_texts_of_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert screen_texts.main(["studio/ui/panes/plots", "--kind", "action"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert any(line.endswith("[action]  Follow the training") for line in printed)
    assert all("[action]" in line for line in printed)


def test_the_command_names_a_path_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert screen_texts.main(["studio/nowhere"]) == 1
    assert "studio/nowhere" in capsys.readouterr().err


def test_every_page_of_the_help_menu_has_headings() -> None:
    pages = screen_texts.help_pages(ROOT)
    assert {"guide.md", "data.md", "commands.md"} <= {page.name for page in pages}
    for page in pages:
        assert list(screen_texts.headings_of(page.read_text(encoding="utf-8"), page.name))
