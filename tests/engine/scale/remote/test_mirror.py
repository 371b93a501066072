"""The folder of a run that follows one elsewhere: what grew, changed or went, whatever is lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from studio.engine.core.errors import DataError
from studio.engine.scale.remote.mirror import TICKET, Mirror, Piece, pieces_of


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """A run elsewhere."""
    folder = tmp_path / "there"
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "metrics.jsonl").write_bytes(b"one\n")
    (folder / "summary.json").write_bytes(b"{}")
    (folder / "training-0.lock").write_bytes(b"{}")
    (folder / "checkpoints/epoch-0001.safetensors").write_bytes(b"a" * 1000)
    return folder


def here_of(there: Path) -> Path:
    folder = there.parent / "here"
    folder.mkdir(exist_ok=True)
    return folder


def fetch(mirror: Mirror, there: Path, most: int = 1 << 20) -> int:
    """Ask until nothing is missing; how often that was."""
    asked = 0
    while True:
        pieces, names, has_more = pieces_of(there, mirror.known, mirror.part, most)
        mirror.take(pieces, names, is_whole=not has_more)
        asked += 1
        if not has_more:
            return asked


def content_of(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    return {name: content for name, content in found.items() if not name.endswith(".lock")}


def sent(mirror: Mirror, there: Path) -> list[Piece]:
    return pieces_of(there, mirror.known, mirror.part)[0]


def test_only_what_is_new_is_sent_whoever_filled_the_folder(there: Path) -> None:
    here = here_of(there)
    fetch(Mirror(here), there)
    assert content_of(here) == content_of(there)
    again = Mirror(here)
    assert sent(again, there) == []
    with (there / "metrics.jsonl").open("ab") as file:
        file.write(b"two\n")
    (piece,) = sent(again, there)
    assert (piece.name, piece.start, piece.content) == ("metrics.jsonl", 4, b"two\n")
    fetch(again, there)
    (there / "summary.json").write_bytes(b'{"state": "stopped"}')
    (there / "checkpoints/epoch-0001.safetensors").unlink()
    (there / "checkpoints/epoch-0002.safetensors").write_bytes(b"")
    fetch(again, there)
    assert content_of(here) == content_of(there)
    assert sent(again, there) == []


def test_a_record_that_was_written_anew_is_sent_as_a_whole(there: Path) -> None:
    here = here_of(there)
    mirror = Mirror(here)
    (there / "steps.bin").write_bytes(b"stride 1\n" + b"x" * 100)
    fetch(mirror, there)
    (there / "steps.bin").write_bytes(b"stride 2\n" + b"y" * 200)
    fetch(mirror, there)
    assert content_of(here) == content_of(there)
    (there / "steps.bin").write_bytes(b"stride 2\n")
    fetch(Mirror(here), there)
    assert content_of(here) == content_of(there)


def test_a_record_that_was_cut_back_and_has_grown_again_is_sent_as_a_whole(there: Path) -> None:
    here, record = here_of(there), there / "metrics.jsonl"
    mirror, kept = Mirror(here), b"epoch 1\n" * 100
    record.write_bytes(kept + b"epoch 2, of the first time\n")
    fetch(mirror, there)
    record.write_bytes(kept + b"epoch 2\nepoch 3\nepoch 4\nepoch 5\n")
    fetch(mirror, there)
    assert content_of(here) == content_of(there)
    record.write_bytes(kept + b"epoch 2 again\nepoch 3 again\nepoch 4 again\n")
    fetch(Mirror(here), there)
    assert content_of(here) == content_of(there)


@pytest.mark.parametrize("name", [TICKET, "training-1.lock", "studio.json"])
def test_what_a_run_has_of_its_own_here_is_never_replaced(there: Path, name: str) -> None:
    here = here_of(there)
    (here / name).write_bytes(b"own")
    Mirror(here).take([Piece(name, 0, b"x", 1, 0)], [], is_whole=True)
    assert (here / name).read_bytes() == b"own"


def test_a_large_file_comes_in_chunks_and_appears_when_it_is_whole(there: Path) -> None:
    here, name = here_of(there), "checkpoints/epoch-0001.safetensors"
    mirror = Mirror(here)
    pieces, names, has_more = pieces_of(there, mirror.known, None, 400)
    mirror.take(pieces, names, is_whole=not has_more)
    assert has_more
    assert not (here / name).exists()
    # It is replaced there meanwhile: the half that is here is of no use.
    os.utime(there / name, ns=(10**18, 10**18))
    (there / name).write_bytes(b"b" * 900)
    assert fetch(mirror, there, 400) > 1
    assert content_of(here) == content_of(there)


def test_a_checkpoint_goes_only_when_the_next_is_here(there: Path) -> None:
    here = here_of(there)
    mirror = Mirror(here)
    fetch(mirror, there)
    (there / "checkpoints/epoch-0001.safetensors").unlink()
    (there / "checkpoints/epoch-0002.safetensors").write_bytes(b"c" * 1000)
    pieces, names, has_more = pieces_of(there, mirror.known, mirror.part, 400)
    mirror.take(pieces, names, is_whole=not has_more)
    assert (here / "checkpoints/epoch-0001.safetensors").exists()
    fetch(mirror, there, 400)
    assert content_of(here) == content_of(there)


@pytest.mark.parametrize("name", ["../out", "/out", "a/../../out", "", "a\\b", "c:out"])
def test_a_name_that_leads_out_is_refused(there: Path, name: str) -> None:
    here = here_of(there)
    with pytest.raises(DataError, match="a worker sent a file of the name"):
        Mirror(here).take([Piece(name, 0, b"x", 1, 0)], [], is_whole=True)
    assert content_of(here) == {}
    assert not (there.parent / "out").exists()


def test_what_is_of_one_machine_stays_there(there: Path) -> None:
    here = here_of(there)
    for name in (TICKET, "studio.json"):
        (here / name).write_bytes(b"mine")
        (there / name).write_bytes(b"theirs")
    fetch(Mirror(here), there)
    assert (here / TICKET).read_bytes() == (here / "studio.json").read_bytes() == b"mine"
    assert not list(here.glob("*.lock"))


def test_a_folder_that_cannot_be_written_is_a_sentence(there: Path) -> None:
    here = here_of(there)
    mirror = Mirror(here)
    (here / "checkpoints").write_bytes(b"in the way")
    with pytest.raises(DataError, match="cannot be written here"):
        fetch(mirror, there)
