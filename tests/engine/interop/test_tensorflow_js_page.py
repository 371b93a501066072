"""The page beside an exported TensorFlow.js model, opened in a browser."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from studio.engine.interop.tensorflow_js import TensorFlowJs
from tests.engine.interop.keras.answers import answers
from tests.engine.interop.page_in_browser import ask_page, chromium, served
from tests.engine.interop.tfjs_cases import exportable
from tests.engine.interop.tfjs_in_node import LIBRARY
from tests.recorded.keras_files.cases import Document, network

VECTOR = network(
    ["out"],
    ("x", "Input", {"shape": [4]}, []),
    ("h", "Dense", {"units": 6, "activation": "hard_silu"}, ["x"]),
    ("out", "Dense", {"units": 3, "activation": "softmax"}, ["h"]),
)
PICTURE = network(
    ["out", "size"],
    ("x", "Input", {"shape": [8, 8, 1]}, []),
    ("c", "Conv2D", {"filters": 4, "kernel_size": 3, "activation": "relu"}, ["x"]),
    ("p", "GlobalAveragePooling2D", {"keepdims": True}, ["c"]),
    ("f", "Flatten", {}, ["p"]),
    ("out", "Dense", {"units": 3, "activation": "softmax"}, ["f"]),
    ("size", "Dense", {"units": 2}, ["f"]),
)
CLASSES = ["iris <b>", "rose", "moss"]
STATE = "document.documentElement.dataset.state"
ROWS = """[...document.querySelectorAll("#answers section")].map((section) => [
  section.querySelector("h2").textContent, [...section.querySelectorAll("li")].map((item) => [
  item.querySelector("span").textContent, Number(item.dataset.value)])])"""
# The ratio of contrast between two colours, as the accessibility guidelines define it.
CONTRAST = """(() => {
  const light = (color) => color.match(/[\\d.]+/g).slice(0, 3).map((each) => each / 255)
    .map((each) => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
    .reduce((sum, each, index) => sum + each * [0.2126, 0.7152, 0.0722][index], 0);
  const ratio = (one, other) => (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
  const style = (query) => getComputedStyle(document.querySelector(query));
  const ground = light(style("body").backgroundColor);
  const panel = light(style("section").backgroundColor);
  return [ratio(light(style("body").color), ground), ratio(light(style("#status").color), ground),
    ratio(light(style("li").color), panel),
    ratio(light(style("#run").color), light(style("#run").backgroundColor))];
})()"""


SEEN = """(() => {
  const seen = document.querySelector("canvas.seen");
  const pixels = seen.getContext("2d").getImageData(0, 0, seen.width, seen.height).data;
  return [...pixels].filter((_, index) => index % 4 === 0);
})()"""


def exported(folder: Path, document: Document, **facts: str) -> Any:
    model = exportable(document, **facts)
    TensorFlowJs().write(model, folder)
    shutil.copy(LIBRARY, folder / "tf.min.js")
    return model


@pytest.mark.peers
def test_the_page_runs_a_model_of_numbers(tmp_path: Path) -> None:
    normalization = {"x": {"scale": [0.5, 2.0, 1.0, 0.25], "shift": [0.0, -1.0, 0.5, 0.0]}}
    model = exported(
        tmp_path / "m.tfjs", VECTOR, class_names=json.dumps(CLASSES),
        feature_names='["long", "wide", "tall", "old"]',
        input_normalization=json.dumps(normalization),
    )  # fmt: skip
    raw = np.array([[1.5, -2.0, 0.25, 7.0]])
    entered = json.dumps([str(each) for each in raw[0]])
    with chromium() as port, served(tmp_path / "m.tfjs") as address:
        found = ask_page(port, address, [
            {"until": f'{STATE} === "answered"'},
            {"run": '[...document.querySelectorAll(".fields span")].map((e) => e.textContent)'},
            {"run": f"""{{ const given = {entered};
              document.querySelectorAll(".fields input").forEach((field, index) => {{
                field.value = given[index]; }});
              {STATE} = "asked"; document.getElementById("run").click(); }}"""},
            {"until": f'{STATE} === "answered"'},
            {"run": ROWS},
            {"run": CONTRAST},
            {"media": "dark"},
            {"run": CONTRAST},
            {"run": """[document.querySelectorAll("#answers b").length,
              document.querySelector("#answers").getAttribute("aria-live"), document.title]"""},
            {"run": f"""{{ document.querySelector(".fields input").value = "";
              {STATE} = "asked"; document.getElementById("run").click(); }}"""},
            {"until": f'{STATE} === "error"'},
            {"run": 'document.getElementById("status").textContent'},
        ], tmp_path)  # fmt: skip
    labels, _, rows, bright, dark, page, _, error = found
    assert labels == ["long", "wide", "tall", "old"]
    x = raw * normalization["x"]["scale"] + normalization["x"]["shift"]
    (expected,) = answers(model.graph, model.stored, [x.astype(np.float32)])
    ((name, shown),) = cast("list[Any]", rows)
    assert name.startswith("out")
    order = np.argsort(-expected[0])
    assert [title for title, _ in shown] == [CLASSES[index] for index in order]
    np.testing.assert_allclose([value for _, value in shown], expected[0][order], atol=1e-5)
    for ratios in (bright, dark):
        assert min(cast("list[float]", ratios)) >= 4.5
    assert page == [0, "polite", "a model"]
    assert error == "x: long is no number"


@pytest.mark.peers
def test_the_page_runs_a_model_of_pictures(tmp_path: Path) -> None:
    """What is drawn is made as small as the model takes it, in the range its data had."""
    model = exported(
        tmp_path / "m.tfjs", PICTURE, output_class_names=json.dumps({"out": CLASSES, "size": []}),
        value_range="[0, 16]",
    )  # fmt: skip
    half = """{ const pad = document.querySelector("canvas"), pen = pad.getContext("2d");
      pen.fillStyle = "#fff"; pen.fillRect(0, 0, pad.width / 2, pad.height); }"""
    ask = f'{{ {STATE} = "asked"; document.getElementById("run").click(); }}'
    with chromium() as port, served(tmp_path / "m.tfjs") as address:
        found = ask_page(port, address, [
            {"until": f'{STATE} === "answered"'},
            {"run": half},
            {"run": ask},
            {"until": f'{STATE} === "answered"'},
            {"run": ROWS},
            {"run": SEEN},
            {"run": """(async () => {
              const made = new OffscreenCanvas(16, 16), pen = made.getContext("2d");
              pen.fillStyle = "#fff"; pen.fillRect(0, 0, 16, 16);
              const data = new DataTransfer();
              const image = await made.convertToBlob();
              data.items.add(new File([image], "a.png", { type: "image/png" }));
              const event = new DragEvent("drop", { dataTransfer: data, cancelable: true });
              document.documentElement.dataset.state = "asked";
              document.querySelector("section").dispatchEvent(event);
            })()"""},
            {"until": f'{STATE} === "answered"'},
            {"run": ROWS},
            {"run": SEEN},
            {"run": """[...document.querySelectorAll("canvas, input")].every((each) =>
              each.ariaLabel || each.closest("label"))"""},
        ], tmp_path)  # fmt: skip
    lists = [cast("list[Any]", each) for each in found if isinstance(each, list)]
    drawn, dropped = (np.array(each).reshape(8, 8) for each in lists[1::2])
    # Only the columns at the edge between black and white may be smoothed.
    assert (drawn[:, :3] == 255).all()
    assert (drawn[:, 5:] == 0).all()
    assert (dropped == 255).all()
    for (out, size), pixels in zip(lists[::2], (drawn, dropped), strict=True):
        sample = (pixels / 255 * 16).astype(np.float32).reshape(1, 8, 8, 1)
        likely, numbers = answers(model.graph, model.stored, [sample])
        order = np.argsort(-likely[0])
        assert [title for title, _ in out[1]] == [CLASSES[index] for index in order]
        np.testing.assert_allclose([v for _, v in out[1]], likely[0][order], atol=1e-5)
        np.testing.assert_allclose([v for _, v in size[1]], numbers[0], rtol=1e-5, atol=1e-4)
    assert found[-1] is True


@pytest.mark.peers
def test_the_page_says_what_is_missing(tmp_path: Path) -> None:
    exported(tmp_path / "m.tfjs", VECTOR)
    (tmp_path / "m.tfjs" / "group1-shard1of1.bin").unlink()
    state = [{"until": f'{STATE} === "error"'},
             {"run": 'document.getElementById("status").textContent'}]  # fmt: skip
    with chromium() as port, served(tmp_path / "m.tfjs") as address:
        (lacking,) = ask_page(port, address, state, tmp_path)
        (tmp_path / "m.tfjs" / "group1-shard1of1.bin").write_bytes(bytes(7))
        (short,) = ask_page(port, address, state, tmp_path)
        page = (tmp_path / "m.tfjs" / "index.html").as_uri()
        (local,) = ask_page(port, page, state, tmp_path)
    assert "The model could not be loaded: group1-shard1of1.bin: 404" in str(lacking)
    assert str(short).endswith("expected 204 bytes of weights, got 7")
    assert "from a server only" in str(local)
