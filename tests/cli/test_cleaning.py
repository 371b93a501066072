"""Commands on a table with bad cells and categories: counted, trained on, and used on new rows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Answer

CPU = ("--backend", "cpu")
TOWNS = ("Basel", "Bern", "Genève")


@pytest.fixture
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that skips, fills and has categories; the class follows from the town."""
    rng = np.random.default_rng(4)
    lines = ["area,town,kind"]
    for number in range(60):
        town = TOWNS[number % 3]
        area = "" if number % 10 == 4 else f"{rng.uniform(20, 90):.1f}"
        lines.append(f"{area},{town},{'flat' if town == 'Bern' else 'house'}")
    lines += ["5,Bern", "7,Bern,", "x,Basel,flat"]
    (tmp_path / "homes.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    project = {
        "format": "glassbox-project", "version": 4, "name": "homes",
        "graph": {
            "name": "homes",
            "nodes": [
                {"id": "in", "type": "Input", "inputs": [], "config": {"name": "in", "shape": [4]}},
                {"id": "out", "type": "Dense", "inputs": ["in"],
                 "config": {"name": "out", "units": 2, "activation": "softmax"}},
            ],
            "outputs": ["out"],
        },
        "data": {
            "source": "csv", "path": "homes.csv", "bad_rows": "skip", "normalization": "unit",
            "fill": {"area": "median"}, "categories": {"town": "one-hot"}, "test_fraction": 0.2,
        },
        "training": {"epochs": 60, "batch_size": 8,
                     "optimizer": {"type": "Adam", "config": {"learning_rate": 0.1}}},
    }  # fmt: skip
    path = tmp_path / "homes.glassbox"
    path.write_text(json.dumps(project), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return path


@pytest.mark.slow
def test_training_counts_what_it_left_out_and_predicting_uses_its_list(
    glassbox: Callable[..., Answer], refused: Callable[..., str], homes: Path
) -> None:
    said = " ".join(glassbox("train", homes, *CPU).err.split())
    assert "data: skipped 2 rows that cannot be read: row 62, row 63 (kind)" in said
    assert "data: filled 7 cells of 'area' with the median of the training part" in said
    found = glassbox("evaluate", homes, *CPU, "--json").json
    assert found["cleaning"] == {"skipped": 2, "filled": 7}
    assert found["test"]["accuracy"] == 1.0
    # The run keeps the list: other categories in the table change nothing about it.
    (settings,) = homes.parent.glob("homes.runs/*/settings.json")
    stored = json.loads(settings.read_text(encoding="utf-8"))["data"]["categories"]
    assert stored == {"town": {"encoding": "one-hot", "values": list(TOWNS)}}
    table = homes.parent / "homes.csv"
    kept = table.read_text(encoding="utf-8")
    table.write_text(kept + "30,Aarau,flat\n31,Aarau,house\n", encoding="utf-8")
    new = homes.parent / "new.csv"
    new.write_text("town,area\nBern,30\nGenève,40\nBasel,50\n", encoding="utf-8")
    answers = glassbox("predict", homes, new, *CPU, "--json").json
    best = [answers["classes"][int(np.argmax(row))] for row in answers["outputs"]]
    assert best == ["flat", "house", "house"]
    new.write_text("town,area\nBern,30\nZug,40\n", encoding="utf-8")
    assert "row 3, column 1 ('town'): 'Zug' is none of the 3 categories" in refused(
        "predict", homes, new, *CPU
    )


@pytest.mark.slow
def test_unknown_categories_are_counted_where_they_become_zeros(
    glassbox: Callable[..., Answer], homes: Path
) -> None:
    project = json.loads(homes.read_text(encoding="utf-8"))
    project["data"]["categories"] = {"town": {"unknown": "zeros"}}
    homes.write_text(json.dumps(project), encoding="utf-8")
    glassbox("train", homes, *CPU, "--epochs", "1")
    new = homes.parent / "new.csv"
    new.write_text("town,area\nBern,30\nZug,40\n", encoding="utf-8")
    answer = glassbox("predict", homes, new, *CPU)
    said = " ".join(answer.err.split())
    # What another program gets, and gives back, still knows the list.
    glassbox("export", homes, "--format", "keras", "-o", "homes.keras")
    glassbox("import", "homes.keras", "-o", "back.glassbox")
    imported = json.loads((homes.parent / "back.glassbox").read_text(encoding="utf-8"))
    assert imported["version"] == 4
    again = glassbox("predict", "back.glassbox", new, *CPU, "--json").json
    first = glassbox("predict", homes, new, *CPU, "--json").json
    np.testing.assert_allclose(again["outputs"], first["outputs"], atol=1e-6)
    assert "1 cell with unknown categories became zeros: row 3 (town)" in said
