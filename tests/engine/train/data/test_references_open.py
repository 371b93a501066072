"""A project's data reference opens what it names, and names what it does not know."""

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from studio.engine.core.errors import DataError, StudioError
from studio.engine.train.data.references import OPTIONS, open_dataset


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    base = tmp_path / "project"
    base.mkdir()
    (base / "t.csv").write_text("a;b;kind\n1;2;x\n3;4;y\n")
    np.savez(base / "d.npz", x=np.ones((2, 3, 3), np.uint8), y=np.array([0, 1]))
    np.save(base / "x.npy", np.ones((2, 3)))
    np.save(base / "y.npy", np.array([0, 1]))
    for name in ("cat", "dog"):
        (base / "pets" / name).mkdir(parents=True)
        Image.fromarray(np.zeros((4, 4), np.uint8)).save(base / "pets" / name / "1.png")
    for name in ("images", "masks"):
        (base / "cells" / name).mkdir(parents=True)
        for place in range(2):
            pixels = np.full((4, 4), place, np.uint8)
            Image.fromarray(pixels).save(base / "cells" / name / f"{place}.png")
    (base / "train-images.idx").write_bytes(b"\0\0\x08\x03" + b"\0\0\0\x02" * 3 + bytes(8))
    (base / "train-labels.idx").write_bytes(b"\0\0\x08\x01\0\0\0\x02\0\x01")
    return base


@pytest.mark.parametrize(
    ("spec", "shape"),
    [
        ({"source": "digits"}, (1797, 8, 8, 1)),
        ({"source": "iris"}, (150, 4)),
        ({"source": "spirals", "n": 50, "classes": 3, "turns": 2, "noise": 0, "seed": 1}, (50, 2)),
        ({"source": "moons", "n": 50}, (50, 2)),
        ({"source": "circles", "n": 50, "factor": 0.3}, (50, 2)),
        ({"source": "csv", "path": "t.csv", "label": "kind"}, (2, 2)),
        ({"source": "csv", "path": "t.csv", "label": ["a"], "drop": ["kind"]}, (2, 1)),
        ({"source": "csv", "path": "./t.csv", "delimiter": "semicolon", "header": True}, (2, 2)),
        ({"source": "npz", "path": "d.npz", "range": [0, 16]}, (2, 3, 3, 1)),
        ({"source": "npz", "x": "x.npy", "y": "y.npy", "class_names": ["n", "y"]}, (2, 3)),
        (
            {"source": "arrays", "path": "d.npz", "inputs": {"a": "x"}, "targets": {"b": "y"}},
            (2, 3, 3, 1),
        ),
        (
            {"source": "columns", "path": "t.csv", "inputs": {"i": "a"}, "targets": {"k": "kind"}},
            (2, 1),
        ),
        (
            {
                "source": "folders",
                "path": "cells",
                "inputs": {"i": "images"},
                "targets": {"m": "masks"},
                "size": [2, 2],
            },
            (2, 2, 2, 1),
        ),
        ({"source": "images", "path": "pets", "size": [2, 3]}, (2, 2, 3, 1)),
        ({"source": "images", "path": "pets", "color_mode": "rgb"}, (2, 4, 4, 3)),
        ({"source": "idx", "path": "."}, (2, 2, 2, 1)),
        ({"source": "idx", "images": "train-images.idx"}, (2, 2, 2, 1)),
    ],
)
def test_every_source_opens(folder: Path, spec: dict[str, object], shape: tuple[int, ...]) -> None:
    assert open_dataset(spec, folder).x.shape == shape


def test_every_source_is_tested_above() -> None:
    assert set(OPTIONS) == {
        "digits",
        "iris",
        "spirals",
        "moons",
        "circles",
        "csv",
        "arrays",
        "columns",
        "folders",
        "npz",
        "images",
        "idx",
    }


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({}, "unknown data source: expected one of digits, iris"),
        ({"source": "mnist"}, "got 'mnist'"),
        ({"source": ["digits"]}, "unknown data source"),
        ({"source": "digits", "n": 5}, "unknown option 'n' of source digits: expected one of none"),
        ({"source": "moons", "sed": 5}, "unknown option 'sed' of source moons.*n, noise, seed"),
        ({"source": "moons", "n": "5"}, "option n of source moons must be a whole number: got '5'"),
        ({"source": "moons", "n": True}, "must be a whole number"),
        ({"source": "moons", "noise": 10**400}, "must be a number"),
        ({"source": "moons", "noise": float("nan")}, "must be a number"),
        ({"source": "moons", "seed": -1}, "seed"),
        ({"source": "csv"}, "option path of source csv must be a path: got nothing"),
        ({"source": "csv", "path": 5}, "must be a text"),
        ({"source": "csv", "path": "t.csv", "task": "rank"}, "unknown task"),
        ({"source": "csv", "path": "t.csv", "delimiter": "x"}, "unknown delimiter"),
        ({"source": "csv", "path": "t.csv", "header": 1}, "must be true or false"),
        ({"source": "csv", "path": "t.csv", "shape": [0]}, "whole numbers from 1 up"),
        ({"source": "csv", "path": "t.csv", "shape": 4}, "must be a list"),
        ({"source": "csv", "path": "t.csv", "drop": [1.5]}, "column names or positions"),
        ({"source": "csv", "path": "t.csv", "class_names": [1]}, "list of texts"),
        ({"source": "csv", "path": "t.csv", "label": {}}, "must be a list"),
        ({"source": "npz"}, "option x of source npz must be a path"),
        ({"source": "npz", "path": "d.npz", "x": "x.npy"}, "or left out"),
        ({"source": "npz", "path": "d.npz", "range": [1]}, "two numbers"),
        ({"source": "npz", "path": "d.npz", "range": [1, 1]}, "lowest first"),
        ({"source": "images", "path": "pets", "size": [2]}, "a height and a width"),
        ({"source": "images", "path": "pets", "color_mode": "cmyk"}, "auto, grayscale, rgb"),
        ({"source": "idx", "path": ".", "labels": "train-labels.idx"}, "or left out"),
    ],
)
def test_unknown_keys_and_values_are_named(
    folder: Path, spec: dict[str, object], message: str
) -> None:
    with pytest.raises(StudioError, match=message) as caught:
        open_dataset(spec, folder)
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    "path", ["../t.csv", "sub/../../t.csv", "", "a\0b", "C:t.csv", "x" * 5000, ".."]
)
def test_relative_paths_stay_in_the_project(folder: Path, path: str) -> None:
    (folder.parent / "t.csv").write_text("1,2\n3,4\n")
    with pytest.raises(DataError, match="path") as caught:
        open_dataset({"source": "csv", "path": path}, folder)
    assert len(str(caught.value)) < 400


def test_absolute_paths_are_taken_as_typed(folder: Path) -> None:
    outside = folder.parent / "t.csv"
    outside.write_text("1,2,x\n3,4,y\n")
    assert len(open_dataset({"source": "csv", "path": str(outside)}, folder)) == 2


def test_links_out_of_the_project_are_refused(folder: Path) -> None:
    outside = folder.parent / "t.csv"
    outside.write_text("1,2,x\n3,4,y\n")
    try:
        (folder / "link.csv").symlink_to(outside)
    except OSError:
        pytest.skip("this system makes no symbolic links")
    with pytest.raises(DataError, match="leaves it"):
        open_dataset({"source": "csv", "path": "link.csv"}, folder)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes")
def test_a_pipe_is_refused_without_waiting(folder: Path) -> None:
    os.mkfifo(folder / "pipe.csv")
    with pytest.raises(DataError, match="must be a regular file"):
        open_dataset({"source": "csv", "path": "pipe.csv"}, folder)
