"""A format of several files: one folder, placed as a whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from studio.engine.core.errors import FormatError
from studio.engine.formats.atomic import write_new
from studio.engine.interop.file_format import Exportable, FileFormat
from studio.engine.train.devices import open_backend
from studio.engine.train.export.check.process import file_hash, stored_bytes
from studio.engine.train.export.exporting import export
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.network.trained import Trained
from studio.session.export.preview import preview_file
from tests.engine.interop.formats_from_elsewhere import known_formats
from tests.engine.train.small_tasks import DIGITS, cnn, task


@pytest.fixture(scope="module")
def trained() -> Iterator[Trained]:
    with (
        open_backend("cpu", compiled=False) as opened,
        Trainer(task(cnn(), DIGITS, epochs=1, batch_size=64), opened.backend) as trainer,
    ):
        trainer.run()
        yield trainer.trained()


@pytest.fixture
def form() -> Iterator[FileFormat]:
    before = known_formats()

    class Parts(FileFormat):
        """One file for each weight, and one that lists them."""

        name = "parts"
        title = "Weights in parts"
        ending = ".parts"
        about = "Each weight in a file of its own."
        holds = "weights"
        is_text = True
        files = ("list.txt", "*.raw")
        keeps = ("notes.txt",)

        def write(self, model: Exportable, path: Path) -> None:
            path.mkdir()
            write_new(path / "list.txt", [f"{name}\n".encode() for name in model.stored])
            for name, values in model.stored.items():
                if name in self.fails:
                    raise FormatError("no room", who=str(path / "x.raw"))
                write_new(path / f"{name.replace('/', '-')}.raw", [values.tobytes()])

        fails: tuple[str, ...] = ()

    yield FileFormat.members["parts"]
    FileFormat.members.clear()
    FileFormat.members.update(before)


@pytest.mark.slow
def test_a_folder_is_exported_again_and_again(
    trained: Trained, form: FileFormat, tmp_path: Path
) -> None:
    place = tmp_path / "m.parts"
    for kept in ("", "mine"):
        (made,) = export(trained, [(form, place)])
        assert made.problem is None
        assert made.nbytes == stored_bytes(place) - len(kept)
        assert made.nbytes > sum(values.nbytes for values in trained.weights().values())
        (place / "notes.txt").write_text("mine")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["m.parts", "m.parts.proof.json"]
    assert (place / "notes.txt").read_text() == "mine"
    names = sorted(each.name for each in place.iterdir())
    assert len(names) == len(trained.weights()) + 2
    lines = (f"{sha256((place / n).read_bytes()).hexdigest()}  {n}\n" for n in names)
    assert file_hash(place) == sha256("".join(lines).encode()).hexdigest()
    shown = preview_file(place, form)
    assert shown.nbytes == stored_bytes(place)
    assert any("list.txt" in line for line in shown.lines)
    assert "dense/kernel" in shown.lines


@pytest.mark.slow
def test_a_folder_that_fails_half_way_is_not_there(
    trained: Trained, form: FileFormat, tmp_path: Path
) -> None:
    place = tmp_path / "m.parts"
    type(form).fails = (list(trained.weights())[-1],)
    (made,) = export(trained, [(form, place)])
    assert str(made.problem) == f"[{place / 'x.raw'}] no room"
    assert list(tmp_path.iterdir()) == []
    place.mkdir()
    (place / "thesis.tex").write_text("x")
    (made,) = export(trained, [(form, place)])
    assert "'thesis.tex'" in str(made.problem)
    assert [each.name for each in place.iterdir()] == ["thesis.tex"]
