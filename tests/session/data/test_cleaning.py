"""What is chosen about bad rows, cells and columns of text is one step each, and stays apart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from studio.engine.train.project.data_settings import DataSettings
from studio.engine.train.project.project import Project
from studio.session.data.cache import DatasetCache
from studio.session.data.peeking import by_name_source
from studio.session.data.problems import MOST
from tests.session.data.files import write_table
from tests.session.data.test_model import DataDesk


@pytest.fixture
def desk() -> Iterator[DataDesk]:
    made = DataDesk()
    yield made
    made.tasks.close()


def attach(desk: DataDesk, path: Path, text: str, status: str = "failed") -> None:
    path.write_text(text, encoding="utf-8")
    desk.data.attach_path(path)
    desk.settle(lambda: desk.data.status == status and not desk.tasks.running)


def test_problems_are_counted_by_kind(desk: DataDesk, tmp_path: Path) -> None:
    attach(desk, tmp_path / "t.csv", "a,b,k\n1,2,u\nx,,v\n3,4,\n5\n6,7,v\n")
    assert desk.data.problems.kinds == (
        "2 cells without a number: row 3 (a), row 3 (b)",
        "1 row without a usable label: row 4 (k)",
        "1 row of another width: row 5",
    )
    assert desk.data.problems.skip_text == "Skip 3 rows"
    assert desk.data.problems.cells_text("number") == "2 cells"
    assert desk.data.problems.columns_of("number") == ("a", "b")


def test_too_many_problems_are_not_counted_to_the_end(desk: DataDesk, tmp_path: Path) -> None:
    attach(desk, tmp_path / "t.csv", "a,k\n1,u\n2,v\n" + "x,u\n" * (MOST + 20))
    assert desk.data.problems.skip_text == "Skip all bad rows"
    assert desk.data.problems.cells_text("number") == "all bad cells"
    desk.data.cleaning.skip()
    desk.settle(lambda: desk.data.status == "ready")
    assert desk.data.cleaning.summary == f"{MOST + 20} rows skipped"


def test_where_nothing_is_left_it_is_said_and_no_row_is_listed(
    desk: DataDesk, tmp_path: Path
) -> None:
    attach(desk, tmp_path / "t.csv", "a,k\nx,u\ny,v\n")
    desk.data.cleaning.use_as(["a"], "numbers")
    desk.data.cleaning.skip()
    desk.settle(lambda: desk.data.status == "failed" and not desk.tasks.running)
    assert desk.data.error is not None
    assert "no row is left" in desk.data.error.message
    assert [each.kind for each in desk.data.problems.rows] == ["other"]
    assert not desk.data.problems.can_skip


def test_a_slip_among_numbers_to_predict_can_be_skipped(desk: DataDesk, tmp_path: Path) -> None:
    rows = "".join(f"{n},{n + 0.5}\n" for n in range(40))
    attach(desk, tmp_path / "t.csv", f"a,y\n{rows}1,about 3\n2,many\n")
    assert desk.data.problems.skip_text == "Skip all bad rows"
    desk.data.cleaning.skip()
    desk.settle(lambda: desk.data.status == "ready")
    assert desk.data.cleaning.summary == "2 rows skipped"


def test_filled_cells_follow_the_split(desk: DataDesk, tmp_path: Path) -> None:
    rows = "".join(f"{n if n % 5 else ''},{n + 0.5}\n" for n in range(50))
    attach(desk, tmp_path / "t.csv", f"a,y\n{rows}")
    desk.data.cleaning.fill("number", "the mean")
    desk.settle(lambda: desk.data.status == "ready")
    before = desk.data.dataset
    desk.data.set_field("split_seed", 3)
    desk.settle(lambda: desk.data.status == "ready" and desk.data.dataset is not before)
    assert before is not None
    assert desk.data.dataset is not None
    assert before.x[0, 0] != desk.data.dataset.x[0, 0]
    assert before.x[1, 0] == desk.data.dataset.x[1, 0]


def test_without_filling_another_split_reads_no_file_again(tmp_path: Path) -> None:
    path = write_table(tmp_path)
    reference = {"source": "csv", "path": str(path), "drop": ["id", "town"]}
    cache = DatasetCache()
    first = cache.open(DataSettings(reference, split_seed=1), tmp_path)
    assert cache.open(DataSettings(reference, split_seed=2), tmp_path) is first
    filled = {**reference, "fill": {"area": "mean"}}
    first = cache.open(DataSettings(filled, split_seed=1), tmp_path)
    assert cache.open(DataSettings(filled, split_seed=1), tmp_path) is first
    assert cache.open(DataSettings(filled, split_seed=2), tmp_path) is not first


def test_rules_of_a_column_go_with_it(desk: DataDesk, tmp_path: Path) -> None:
    desk.data.attach_path(write_table(tmp_path))
    desk.settle(lambda: desk.data.status == "ready" and bool(desk.data.columns))
    assert desk.data.data["drop"] == ["id", "town"]
    desk.data.set_columns(None, ["id"])
    desk.settle(lambda: desk.data.status == "ready")
    assert desk.data.data["categories"] == {"town": "one-hot"}
    assert desk.data.cleaning.use_of("town") == "one-hot"
    desk.data.cleaning.use_as(["town"], "index")
    desk.settle(lambda: desk.data.status == "ready")
    assert desk.data.cleaning.use_of("town") == "index"
    desk.data.set_columns("kind", ["id", "town"])
    desk.settle(lambda: desk.data.status == "ready")
    assert "categories" not in desk.data.data
    for _ in range(3):
        desk.document.undo()
    desk.settle(lambda: desk.data.status == "ready")
    assert desk.data.data["drop"] == ["id", "town"]


@pytest.mark.parametrize(
    ("options", "version"),
    [({}, 1), ({"bad_rows": "skip"}, 4), ({"fill": {"rooms": 0}}, 4),
     ({"categories": {"town": "index"}}, 4)],
)  # fmt: skip
def test_a_project_is_written_in_the_lowest_version(
    tmp_path: Path, options: dict[str, object], version: int
) -> None:
    data = {"source": "csv", "path": "t.csv", "test_fraction": 0.2, **options}
    made = Project.load(Path("projects/iris/iris.glassbox").read_bytes()).to_json()
    project = Project.from_json({**made, "version": 4, "data": data})
    written = project.to_json()
    assert written["version"] == version
    assert written["data"] == data


def test_samples_of_an_archive_that_are_not_finite_can_be_skipped(
    desk: DataDesk, tmp_path: Path
) -> None:
    x = np.arange(40.0).reshape(20, 2)
    x[3, 1] = np.nan
    np.savez(tmp_path / "a.npz", x=x, y=np.arange(20) % 2)
    desk.data.attach_path(tmp_path / "a.npz")
    desk.settle(lambda: desk.data.status == "failed" and not desk.tasks.running)
    assert desk.data.problems.skip_text == "Skip all bad samples"
    desk.data.cleaning.skip()
    desk.settle(lambda: desk.data.status == "ready")
    assert desk.data.cleaning.summary == "1 sample skipped"


def test_a_text_column_that_goes_to_an_input_is_read_as_categories(
    desk: DataDesk, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("town,rooms,kind\n" + "Bern,1,a\nBasel,2,b\nBern,3,b\n" * 5)
    desk.data.attach(
        {
            "source": "columns", "path": str(path),
            "inputs": {"place": "town", "size": "rooms"}, "targets": {"kind": "kind"},
        }
    )  # fmt: skip
    desk.settle(lambda: desk.data.status == "failed" and bool(desk.data.parts))
    assert desk.data.cleaning.text_columns == ("town",)
    desk.data.cleaning.use_as(["town"], "one-hot")
    desk.settle(lambda: desk.data.status == "ready")
    assert desk.data.cleaning.text_columns == ()
    dataset = desk.data.dataset
    assert dataset is not None
    assert dataset.inputs[0].values[:3].tolist() == [[0, 1], [1, 0], [0, 1]]
    assert dataset.inputs[0].feature_names == ("town=Basel", "town=Bern")


def test_rules_of_a_table_stay_when_its_columns_are_mapped() -> None:
    rules = {"bad_rows": "skip", "fill": {"a": 0}, "categories": {"town": "index"}}
    found = by_name_source({"source": "csv", "path": "t.csv", "label": "k", **rules})
    assert found == {"source": "columns", "path": "t.csv", **rules}
    found = by_name_source({"source": "folders", "path": "cells", "bad_images": "skip"})
    assert found == {"source": "folders", "path": "cells", "bad_images": "skip"}


def test_what_was_chosen_is_in_the_saved_file(desk: DataDesk, tmp_path: Path) -> None:
    attach(desk, tmp_path / "t.csv", "a,k\n1,u\nx,v\n3,v\n4,u\n5,v\n")
    before = tmp_path / "before.glassbox"
    desk.document.save(before)
    assert json.loads(before.read_text(encoding="utf-8"))["version"] == 1
    desk.data.cleaning.skip()
    desk.settle(lambda: desk.data.status == "ready")
    after = tmp_path / "after.glassbox"
    desk.document.save(after)
    written = json.loads(after.read_text(encoding="utf-8"))
    assert (written["version"], written["data"]["bad_rows"]) == (4, "skip")
    desk.open(after)
    desk.settle(lambda: desk.data.status == "ready")
    assert desk.data.cleaning.summary == "1 row skipped"
    desk.data.cleaning.refuse()
    desk.document.save(after)
    assert after.read_bytes() == before.read_bytes()
