"""Every file format: complete, told apart by its bytes, the same bytes again, and in the docs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.errors import CheckpointError, DataError, FormatError, ParameterError
from studio.engine.formats.checkpoint import Checkpoint, Position
from studio.engine.interop.file_format import (
    Exportable,
    FileFormat,
    file_formats,
    format_for,
    format_named,
)
from studio.engine.interop.reading import format_of, import_endings, load_weights, main_file
from studio.engine.train.devices import open_backend
from studio.engine.train.export import exporting
from studio.engine.train.export.check.process import file_hash, program_hash
from studio.engine.train.export.exporting import exportable
from studio.engine.train.importing import weights as importing
from studio.engine.train.network.trained import Trained
from tests.engine.interop.formats_from_elsewhere import known_formats
from tests.engine.train.trained_projects import train

DOCS = Path(__file__).parents[3] / "docs" / "commands.md"
BLOCK = re.compile(r"(<!-- formats: .* -->\n).*?(<!-- end of formats -->)", re.DOTALL)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exportable]:
    _, run = train(tmp_path_factory.mktemp("trained"), epochs=1)
    with open_backend("cpu") as opened, Trained.of_run(run, opened.backend) as trained:
        yield exportable(trained)


@pytest.fixture
def unregistered() -> Iterator[None]:
    """Forgets the formats that a test defines."""
    before = known_formats()
    yield
    FileFormat.members.clear()
    FileFormat.members.update(before)


def test_the_formats_there_are() -> None:
    assert [f.name for f in file_formats()] == [
        "gbi", "gbasm", "onnx", "safetensors", "npz", "checkpoint", "keras", "hdf5",
        "keras-weights", "tfjs",
    ]  # fmt: skip
    assert tuple(f.name for f in file_formats()) == exporting.EXPORT_FORMATS
    endings = (".safetensors", ".npz", ".weights.h5")
    assert import_endings() == importing.IMPORT_FORMATS == endings
    assert len({f.ending for f in file_formats()}) == len(file_formats())


@pytest.mark.slow
@pytest.mark.parametrize("form", file_formats(), ids=lambda form: form.name)
def test_a_file_is_read_back_as_it_was_written(
    form: FileFormat, model: Exportable, tmp_path: Path
) -> None:
    first, second = tmp_path / f"a{form.ending}", tmp_path / f"b{form.ending}"
    form.write(model, first)
    form.write(model, second)
    assert file_hash(first) == file_hash(second)
    assert format_of(first) is form
    assert format_for(first) is form
    found = form.read(first, model.graph) if form.can_read else None
    if found is None:
        pass
    elif form.holds == "program":
        program, weights = model.program
        assert found.program is not None
        assert program_hash(found.program) == program_hash(program)
        assert set(found.weights) == (set(weights) if form.has_weights else set())
        for name, values in found.weights.items():
            np.testing.assert_array_equal(values, weights[name])
    else:
        for name, values in model.stored.items():
            np.testing.assert_array_equal(found.weights[name], values)
    lines = list(form.summary(main_file(first).read_bytes()))
    assert lines
    assert all(isinstance(part, str) or len(part) for part in lines)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("keras", "Dense"), ("hdf5", "model_weights/"), ("keras-weights", "layers/")],
)
def test_a_summary_of_keras_names_layers_or_arrays(
    name: str, wanted: str, model: Exportable, tmp_path: Path
) -> None:
    form = format_named(name)
    path = tmp_path / f"net{form.ending}"
    form.write(model, path)
    title, *rest = form.summary(path.read_bytes())
    assert isinstance(title, str)
    assert title.startswith(form.title)
    said = " ".join(part if isinstance(part, str) else " ".join(part) for part in rest)
    assert wanted in said
    with pytest.raises(FormatError):
        list(form.summary(path.read_bytes()[:40]))


@pytest.mark.parametrize("form", file_formats(), ids=lambda form: form.name)
@pytest.mark.parametrize("content", [b"", b"\x00" * 20, b"PK", b"{}", b"\x89GBI\r\n\x1a\n"])
def test_what_is_no_file_of_the_format_is_refused(
    form: FileFormat, content: bytes, model: Exportable, tmp_path: Path
) -> None:
    path = tmp_path / f"bad{form.ending}"
    path.write_bytes(content)
    with pytest.raises(FormatError):
        form.read(path, model.graph)


def test_a_checkpoint_is_told_from_weights_though_both_are_safetensors(
    model: Exportable, tmp_path: Path
) -> None:
    path = tmp_path / "named.safetensors"
    format_named("checkpoint").write(model, path)
    assert format_of(path) is format_named("checkpoint")
    assert set(model.stored) <= set(load_weights(path, model.graph))


def test_weights_that_are_no_numbers_are_not_imported(model: Exportable, tmp_path: Path) -> None:
    broken = {name: np.full_like(a, np.nan) for name, a in model.stored.items()}
    Checkpoint(broken, Position(), 0, 1).save(tmp_path / "nan.safetensors")
    with pytest.raises(CheckpointError, match="holds NaN or infinity"):
        load_weights(tmp_path / "nan.safetensors", model.graph)


def test_a_program_is_not_imported_as_weights(model: Exportable, tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    format_named("gbi").write(model, path)
    with pytest.raises(FormatError, match=r"or \.weights\.h5, got instruction file \(\.gbi\)"):
        load_weights(path, model.graph)


def test_unknown_names_and_endings_are_answered_with_those_there_are() -> None:
    with pytest.raises(ParameterError, match="expected a format out of gbi, gbasm") as refused:
        format_named("safetensor")
    assert "safetensors" in refused.value.hint
    with pytest.raises(ParameterError, match=r"'model\.pmml': expected one of"):
        format_for(Path("model.pmml"))
    assert format_for(Path("A.CHECKPOINT.SAFETENSORS")).name == "checkpoint"


def test_a_format_that_lacks_something_cannot_be_defined(unregistered: None) -> None:
    with pytest.raises(TypeError, match="lacks title, about, holds"):

        class Half(FileFormat):
            name = "half"
            ending = ".half"

    with pytest.raises(TypeError, match="expected a name such as 'npz'"):

        class Odd(FileFormat):
            name, title, ending, about, holds = "Od d", "Odd", "odd", "Odd.", "weights"

    with pytest.raises(TypeError, match="two file formats are called 'npz'"):

        class Second(FileFormat):
            name, title, ending, about, holds = "npz", "Npz", ".npz", "Npz.", "weights"


def test_what_a_format_cannot_do_is_said(unregistered: None, tmp_path: Path) -> None:
    class Nothing(FileFormat):
        name, title, ending, about, holds = "nothing", "Nothing", ".no", "Nothing.", "weights"

    form = format_named("nothing")
    assert (form.can_read, form.can_write, form.can_import) == (False, False, False)
    assert "nothing" in {each.name for each in file_formats()}
    assert "nothing" not in exporting.EXPORT_FORMATS
    with pytest.raises(FormatError, match="cannot be read back"):
        form.read(tmp_path / "x.no")


def test_without_a_program_only_weights_are_written(model: Exportable, tmp_path: Path) -> None:
    bare = Exportable(model.name, model.graph, model.stored)
    format_named("npz").write(bare, tmp_path / "m.npz")
    with pytest.raises(DataError, match="no program"):
        format_named("gbi").write(bare, tmp_path / "m.gbi")
    with pytest.raises(DataError, match="no optimiser state"):
        format_named("checkpoint").write(bare, tmp_path / "m.checkpoint.safetensors")


def test_the_docs_list_the_formats(request: pytest.FixtureRequest) -> None:
    rows = ["| format | ending | | import |", "|---|---|---|---|"]
    for form in file_formats():
        taken = "as weights" if form.can_import else "as a project" if form.can_open else "no"
        rows.append(f"| `{form.name}` | `{form.ending}` | {form.about} | {taken} |")
    text = DOCS.read_text(encoding="utf-8")
    wanted = BLOCK.sub(lambda found: f"{found[1]}\n" + "\n".join(rows) + f"\n\n{found[2]}", text)
    if request.config.getoption("--update-golden"):
        DOCS.write_text(wanted, encoding="utf-8")
    assert DOCS.read_text(encoding="utf-8") == wanted, "pytest --update-golden writes it"


def test_in_sentences_names_keep_their_capital_letters() -> None:
    said = {form.name: form.in_a_sentence for form in file_formats()}
    assert said["onnx"] == "ONNX model"
    assert said["keras"] == "Keras model"
    assert said["npz"] == "weights (NumPy)"
    assert said["gbi"] == "instruction file"
