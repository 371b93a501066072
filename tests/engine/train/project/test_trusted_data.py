"""Data outside a project's folder is read only where the user has agreed to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from studio.engine.core.errors import StudioError
from studio.engine.train.project.trusted_data import TrustedData, UntrustedDataError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    (made / "inside").mkdir(parents=True)
    (tmp_path / "private.csv").write_text("a,b\n1,2\n")
    return made


def csv(path: object) -> dict[str, object]:
    return {"source": "csv", "path": str(path)}


def test_what_lies_inside_or_is_made_needs_no_word(folder: Path) -> None:
    trusted = TrustedData()
    for reference in (
        {"source": "digits"},
        csv("data.csv"),
        csv("inside/data.csv"),
        csv(folder / "data.csv"),
        {"source": "npz", "x": "x.npy", "y": "inside/y.npy"},
        # Refused where it is read, agreed to or not.
        csv("../private.csv"),
    ):
        trusted.check(reference, folder)


@pytest.mark.parametrize("name", ["path", "x", "y", "images", "labels"])
def test_every_name_of_a_file_counts(folder: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(UntrustedDataError) as caught:
        TrustedData().check({"source": "any", name: str(tmp_path / "private.csv")}, folder)
    assert caught.value.paths == (tmp_path / "private.csv",)
    assert str(tmp_path / "private.csv") in caught.value.message


def test_ways_around_lead_outside_too(folder: Path, tmp_path: Path) -> None:
    (folder / "link").symlink_to(tmp_path)
    for path in (folder / ".." / "private.csv", folder / "link" / "private.csv",
                 f"{folder}-beside/data.csv"):  # fmt: skip
        assert TrustedData().untrusted(csv(path), folder)


def test_the_word_holds_for_one_folder_and_one_path(folder: Path, tmp_path: Path) -> None:
    memory = tmp_path / "config" / "trusted.json"
    reference = csv(tmp_path / "private.csv")
    TrustedData(memory).trust(reference, folder)
    again = TrustedData(memory)
    again.check(reference, folder)
    assert again.untrusted(csv(tmp_path / "other.csv"), folder)
    assert again.untrusted(reference, tmp_path / "another")
    # Another window writes the same file.
    TrustedData(memory).trust(csv(tmp_path / "other.csv"), folder)
    again.check(csv(tmp_path / "other.csv"), folder)
    again.check(reference, folder)


def test_a_word_for_the_session_is_not_remembered(folder: Path, tmp_path: Path) -> None:
    memory = tmp_path / "trusted.json"
    trusted = TrustedData(memory)
    trusted.trust(csv(tmp_path / "private.csv"), folder, remember=False)
    trusted.check(csv(tmp_path / "private.csv"), folder)
    assert not memory.exists()


def test_projects_the_studio_made_are_trusted(folder: Path, tmp_path: Path) -> None:
    TrustedData(own=(tmp_path / "project",)).check(csv(tmp_path / "private.csv"), folder)


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "{}", "[1]", '[{"project folder": 1, "data": 2}]', "\0" * 100, "[" * 100_000],
)
def test_a_damaged_memory_trusts_nothing_and_is_replaced(
    folder: Path, tmp_path: Path, content: str
) -> None:
    memory = tmp_path / "trusted.json"
    memory.write_text(content)
    reference = csv(tmp_path / "private.csv")
    assert TrustedData(memory).untrusted(reference, folder)
    TrustedData(memory).trust(reference, folder)
    TrustedData(memory).check(reference, folder)


def test_the_memory_is_bounded(folder: Path, tmp_path: Path) -> None:
    memory = tmp_path / "trusted.json"
    listed = [{"project folder": "/old", "data": f"/old/{n}"} for n in range(3000)]
    memory.write_text(json.dumps(listed))
    TrustedData(memory).trust(csv(tmp_path / "private.csv"), folder)
    assert len(json.loads(memory.read_text())) == 1000
    TrustedData(memory).check(csv(tmp_path / "private.csv"), folder)


def test_where_it_cannot_be_remembered_it_holds_for_the_session(
    folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "config").write_text("in the way")
    trusted = TrustedData(tmp_path / "config" / "trusted.json")
    with pytest.raises(StudioError):
        trusted.trust(csv(tmp_path / "private.csv"), folder)
    trusted.check(csv(tmp_path / "private.csv"), folder)


def test_a_path_with_control_codes_does_not_reach_the_terminal(folder: Path) -> None:
    with pytest.raises(UntrustedDataError) as caught:
        TrustedData().check(csv("/tmp/\x1b[31mred\n"), folder)
    assert caught.value.message.isprintable()
