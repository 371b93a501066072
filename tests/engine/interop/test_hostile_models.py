"""Models of other programs that were made to do harm, each refused in a sentence."""

from __future__ import annotations

import io
import json
import struct
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from studio.engine.core.errors import InternalError, StudioError
from studio.engine.formats.hdf5_child import CHILDREN
from studio.engine.formats.limits import MIB
from studio.engine.interop.file_format import format_named
from studio.engine.interop.imported import ImportedModel
from studio.engine.interop.keras.dialects import model_from_json
from studio.engine.interop.keras.graph_in import graph_from_keras
from tests import hostile
from tests.engine.interop.foreign_files import (
    PATHS,
    WEIGHTS,
    archive,
    by_group,
    by_path,
    document,
    hdf5,
    hdf5_file,
    keras_file,
    keras_members,
    old_document,
    tfjs_folder,
)
from tests.engine.interop.keras.documents import Document, chain, entry, given, old

MOST = 8 * MIB
"""What a refusal may take; the files are a few kilobytes."""


@pytest.fixture(scope="module", autouse=True)
def none_left() -> Iterator[None]:
    yield
    CHILDREN.close()


def read(name: str, path: Path) -> ImportedModel:
    return format_named(name).read_model(path)


def refused(name: str, path: Path, most: int = MOST) -> str:
    """What is said against a file, once it is seen to be clean and cheap."""
    tracemalloc.start()
    try:
        with pytest.raises(StudioError) as caught:
            read(name, path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    error = caught.value
    assert not isinstance(error, InternalError)
    assert "\n" not in error.message
    assert len(error.message) < 600
    assert str(error).replace("\n  hint: ", "").isprintable()
    assert peak < most
    return str(error)


def clean(load: Callable[[], object]) -> str | None:
    """What is said against something that may be taken as well; None where it is."""
    try:
        load()
    except StudioError as error:
        assert str(error).replace("\n  hint: ", "").isprintable()  # noqa: PT017  It may not come.
        return error.message
    return None


@pytest.mark.slow
def test_the_files_themselves_are_read(tmp_path: Path) -> None:
    for name, path in (
        ("keras", keras_file(tmp_path)),
        ("hdf5", hdf5_file(tmp_path)),
        ("tfjs", tfjs_folder(tmp_path)),
    ):
        found = read(name, path)
        assert {tuple(key.split("/")) for key in found.weights} == set(WEIGHTS)


# ------------------------------------------------------------------------ archives


def members(change: Callable[[dict[str, bytes]], object]) -> bytes:
    held = keras_members()
    change(held)
    return archive(held)


def named(name: str) -> bytes:
    """An archive with one more member."""
    return members(lambda held: held.update({name: b"x"}))


def link() -> bytes:
    made = io.BytesIO(archive(keras_members()))
    with zipfile.ZipFile(made, "a") as file:
        info = zipfile.ZipInfo("assets")
        info.external_attr = 0o120777 << 16
        file.writestr(info, "/etc/passwd")
    return made.getvalue()


def twice() -> bytes:
    made = io.BytesIO(archive(keras_members()))
    with zipfile.ZipFile(made, "a") as file, pytest.warns(UserWarning, match="Duplicate name"):
        file.writestr("config.json", "{}")
    return made.getvalue()


def patched(place: int, value: bytes, count: int = 1) -> bytes:
    """An archive with bytes changed in the directory entries of some members."""
    data = bytearray(archive(keras_members()))
    at = -1
    for _ in range(count):
        at = data.index(b"PK\1\2", at + 1)
        data[at + place : at + place + len(value)] = value
    return bytes(data)


def lying_size() -> bytes:
    return patched(24, struct.pack("<I", 10**9))


def bomb(name: str) -> bytes:
    held = keras_members() | {name: b" " * (65 * MIB)}
    return archive(held, zipfile.ZIP_DEFLATED)


GOOD = archive(keras_members())

ARCHIVES: dict[str, tuple[Callable[[], bytes], str]] = {
    "a parent folder": (lambda: named("../evil"), "unsafe member name"),
    "an absolute path": (lambda: named("/evil"), "unsafe member name"),
    "a backslash": (lambda: named("a\\evil"), "unsafe member name"),
    "a drive": (lambda: named("C:evil"), "unsafe member name"),
    "right to left": (lambda: named("a\u202egnp.exe"), "unsafe member name"),
    "a link": (link, "is a link, which is never followed"),
    "config.json twice": (twice, "twice|repeat"),
    "a bomb of spaces": (lambda: bomb("config.json"), "unpacks to|too long"),
    "a bomb beside": (lambda: bomb("assets/x"), "unpacks to"),
    "cut off": (lambda: GOOD[:-30], "directory is missing"),
    "cut in the middle": (lambda: GOOD[: len(GOOD) // 2], "directory is missing"),
    "data in front": (lambda: b"#!/bin/sh\n" + GOOD, "foreign data"),
    "data behind": (lambda: GOOD + b"more", "foreign data"),
    "a wrong checksum": (lambda: patched(16, b"\0\0\0\0", 3), "checksum"),
    "a lying size": (lying_size, "stored|contradict|size"),
    "encrypted": (lambda: patched(8, b"\1\0"), "encrypted"),
    "packed by another method": (lambda: patched(10, b"\x0e\0"), "unsupported method"),
    "empty": (lambda: b"", "not a complete zip archive|empty"),
    "text": (lambda: b"hello " * 50, "not a complete zip archive"),
    "no network": (lambda: members(lambda held: held.pop("config.json")), "config.json"),
    "no weights": (lambda: members(lambda held: held.pop("model.weights.h5")), "weights.h5"),
    "weights that are none": (
        lambda: members(lambda held: held.update({"model.weights.h5": b"{}"})), "signature"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", ARCHIVES)
def test_archives(tmp_path: Path, case: str) -> None:
    make, words = ARCHIVES[case]
    path = tmp_path / "m.keras"
    path.write_bytes(make())
    said = refused("keras", path)
    assert any(word in said for word in words.split("|")), said


# ------------------------------------------------------------------------ networks


def layer(change: Callable[[Document], object], at: int = 5) -> Callable[[], Document]:
    def make() -> Document:
        made = document()
        change(made["config"]["layers"][at])
        return made

    return make


def option(name: str, value: Any, at: int = 5) -> Callable[[], Document]:
    return layer(lambda found: found["config"].update({name: value}), at)


def call(*values: Any, at: int = 5) -> Callable[[], Document]:
    """A layer that is called on what another call of a layer gives."""
    config = {"shape": [None], "dtype": "float32", "keras_history": list(values)}
    node = {"class_name": "__keras_tensor__", "config": config}
    return layer(lambda found: found.update(inbound_nodes=[{"args": [node], "kwargs": {}}]), at)


def loop() -> Document:
    made = document()
    made["config"]["layers"][3]["inbound_nodes"] = made["config"]["layers"][5]["inbound_nodes"]
    return made


CODE = {"class_name": "__lambda__", "config": {"value": "4wEAAAA=", "defaults": None}}

NETWORKS: dict[str, Callable[[], Document]] = {
    "Lambda": layer(lambda found: found.update(class_name="Lambda")),
    "code as an activation": option("activation", CODE),
    "a function as an activation": option(
        "activation", {"class_name": "function", "config": "system", "module": "os"}),
    "a layer of another module": layer(lambda found: found.update(module="os")),
    "a class by its path": layer(lambda found: found.update(class_name="os.system")),
    "a registered name": layer(lambda found: found.update(registered_name="evil>Dense")),
    "a look-up in a file": layer(lambda found: found.update(
        class_name="StringLookup", config={"name": "d", "vocabulary": "/etc/passwd"})),
    "safe mode switched off": layer(lambda found: found.update(
        module="keras.config", class_name="enable_unsafe_deserialization", config={})),
    "negative units": option("units", -3),
    "no units": option("units", 0),
    "more units than memory": option("units", 10**11),
    "units beyond every integer": option("units", 10**18),
    "units as text": option("units", "3"),
    "units as a bool": option("units", True),
    "units as a fraction": option("units", 3.5),
    "units as a list": option("units", [3]),
    "no steps": option("strides", [0, 0], 1),
    "a window larger than all": option("kernel_size", [10**9, 10**9], 1),
    "groups that do not divide": option("groups", 7, 1),
    "a rate above 1": option("rate", 2.0, 3),
    "an input larger than memory": option("batch_shape", [None, 10**9, 10**9, 2], 0),
    "a negative input": option("batch_shape", [None, -4, 4, 2], 0),
    "an input of text": option("batch_shape", "4", 0),
    "an input of 100 axes": option("batch_shape", [None] + [1] * 100, 0),
    "a loop": loop,
    "a layer called on itself": call("d", 0, 0),
    "a call of nothing": call("nothing", 0, 0),
    "a call that is not there": call("f", 3, 0),
    "a negative call": call("f", -1, 0),
    "an output that is not there": call("f", 0, 10**9),
    "a layer called by a list": call(["f"], 0, 0),
    "one name twice": layer(lambda found: (found.update(name="f"),
                                           found["config"].update(name="f"))),
    "an unknown option": option("evil", 1),
    "a shape against the weights": option("units", 4),
    "more weights than the network": option("use_bias", False),
    "more network than the weights": option("scale", False, 2),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", NETWORKS)
def test_networks(tmp_path: Path, case: str) -> None:
    made = NETWORKS[case]()
    for name, path in (
        ("keras", keras_file(tmp_path, made)),
        ("hdf5", hdf5_file(tmp_path, made)),
        ("tfjs", tfjs_folder(tmp_path, made)),
    ):
        refused(name, path)


@pytest.mark.slow
def test_a_hundred_thousand_layers_are_refused_at_once(tmp_path: Path) -> None:
    """By their number, before any is made."""
    count = 100_000
    form = (
        '{"class_name": "ReLU", "name": "r%d", "config": {"name": "r%d"}, '
        '"inbound_nodes": [[["r%d", 0, 0, {}]]]}'
    )
    layers = ", ".join(form % (index, index, index - 1) for index in range(1, count))
    begin = json.dumps(old("InputLayer", "r0", batch_input_shape=[None, 4]))
    made = (
        f'{{"class_name": "Functional", "config": {{"name": "n", "layers": [{begin}, {layers}], '
        f'"input_layers": [["r0", 0, 0]], "output_layers": [["r9", 0, 0]]}}}}'
    )
    with pytest.raises(
        StudioError, match=r"too many values|too large: expected at most \d+ layers"
    ):
        read("keras", keras_file(tmp_path, made.encode()))


@pytest.mark.parametrize("name", ["..", "a/../b", "a\0b", "\u202egnp.exe", "C:\\x", "x" * MIB, " "])
def test_a_name_is_only_ever_a_label(name: str) -> None:
    """Names are refused, or made into names of ours; they are in no path either way."""
    made = document()
    for place, history in ((3, None), (4, made["config"]["layers"][4])):
        found = made["config"]["layers"][place]
        if history is None:
            found["name"] = found["config"]["name"] = name
        else:
            found["inbound_nodes"][0]["args"][0]["config"]["keras_history"][0] = name
    said = clean(lambda: names_of(made))
    assert said is None or len(said) < 600


def names_of(made: Document) -> None:
    graph, _ = graph_from_keras(model_from_json(made))
    assert all(each.isprintable() and len(each) < 200 for each in graph.nodes)


def documents() -> dict[str, Document]:
    small = chain(
        given("x", (4, 4, 1)),
        entry("MaxPooling2D", "p", pool_size=[2, 2], strides=None, padding="valid"),
        entry("Flatten", "f"),
        entry("Dense", "d", units=3, activation="relu", kernel_regularizer={
            "module": "keras.regularizers", "class_name": "L2", "config": {"l2": 0.01}}),
    )  # fmt: skip
    return {"keras 3": small, "keras 2": old_document()}


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param("keras 3", marks=pytest.mark.full), "keras 2"])
def test_every_value_of_a_network_may_be_wild(name: str) -> None:
    made = documents()[name]

    def load(variant: Any) -> None:
        graph_from_keras(model_from_json(variant))

    load(made)
    assert hostile.refusals(load, hostile.variants(made)) > 1000


# ------------------------------------------------------------------------ weights


def kernel(array: Any) -> Callable[[h5py.File], None]:
    """The weights of Keras 3 with another kernel of the last layer."""

    def fill(file: h5py.File) -> None:
        by_path(file)
        place = f"{PATHS['d']}/vars/0"
        del file[place]
        if array is not None:
            file[place] = array

    return fill


def added(path: str) -> Callable[[h5py.File], None]:
    def fill(file: h5py.File) -> None:
        by_path(file)
        file[path] = np.zeros(3, np.float32)

    return fill


def as_group(file: h5py.File) -> None:
    kernel(None)(file)
    file.create_group(f"{PATHS['d']}/vars/0")


def other_state(file: h5py.File) -> None:
    by_path(file)
    del file["optimizer/vars/5"]
    file["optimizer/vars/5"] = np.zeros((7, 7), np.float32)


GOOD_KERNEL = WEIGHTS["d", "kernel"]

HDF5: dict[str, Callable[[h5py.File], None]] = {
    "another shape": kernel(np.zeros((3, 64), np.float32)),
    "another rank": kernel(np.zeros((64, 3, 1), np.float32)),
    "no shape at all": kernel(np.float32(1)),
    "text": kernel(["a"] * 3),
    "records": kernel(np.zeros((64, 3), [("a", "f4")])),
    "complex numbers": kernel(np.zeros((64, 3), complex)),
    "missing": kernel(None),
    "a group": as_group,
    "a link to another file": lambda file: (kernel(None)(file), file.__setitem__(
        f"{PATHS['d']}/vars/0", h5py.ExternalLink("/etc/passwd", "/")))[0],
    "one more": added(f"{PATHS['d']}/vars/2"),
    "a layer more": added("layers/dense_7/vars/0"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", HDF5)
def test_weights_in_an_archive(tmp_path: Path, case: str) -> None:
    refused("keras", keras_file(tmp_path, weights=hdf5(HDF5[case])))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [">f8", "<f8", ">f4", "<f2"])
def test_weights_of_other_precision_and_order_are_read(tmp_path: Path, dtype: str) -> None:
    path = keras_file(tmp_path, weights=hdf5(kernel(GOOD_KERNEL.astype(dtype))))
    read_kernel = read("keras", path).weights["d/kernel"]
    assert read_kernel.dtype == np.float32
    found = np.sort(read_kernel.ravel())
    np.testing.assert_array_equal(found, np.sort(GOOD_KERNEL.astype(dtype).ravel()).astype("f4"))


@pytest.mark.slow
def test_weights_that_are_no_finite_numbers_are_said(tmp_path: Path) -> None:
    bad = GOOD_KERNEL.copy()
    bad[3, 1] = np.nan
    found = read("keras", keras_file(tmp_path, weights=hdf5(kernel(bad))))
    assert any("finite" in each or "NaN" in each for each in found.report.remarks)


@pytest.mark.slow
def test_a_wrong_state_of_the_optimiser_is_left_out_or_refused(tmp_path: Path) -> None:
    path = keras_file(tmp_path, weights=hdf5(other_state))

    def load() -> None:
        found = read("keras", path)
        assert found.training is None or not found.training.slots
        assert found.report.left_out

    assert len(clean(load) or "") < 600


def lists(**names: Any) -> Callable[[h5py.File], None]:
    """Weights as Keras 2 lays them out, with other lists of names."""

    def fill(file: h5py.File) -> None:
        by_group(file)
        for path, value in names.items():
            owner = file["model_weights"] if path == "layers" else file[f"model_weights/{path}"]
            owner.attrs["layer_names" if path == "layers" else "weight_names"] = value

    return fill


OLD: dict[str, Callable[[h5py.File], None]] = {
    "a layer that is not there": lists(layers=["x", "c", "n", "o", "f", "evil"]),
    "a layer in place of another": lists(layers=["x", "c", "n", "d", "f", "d"]),
    "a layer less": lists(layers=["x", "c", "n", "o", "f"]),
    "a layer twice": lists(layers=["x", "c", "n", "o", "f", "d", "d"]),
    "a layer that is a path": lists(layers=["x", "c", "n", "o", "f", "../d"]),
    "a list of numbers": lists(layers=np.arange(6)),
    "text in place of a list": lists(layers="xcnofd"),
    "a weight twice": lists(d=["d/kernel:0", "d/kernel:0"]),
    "a weight less": lists(d=["d/kernel:0"]),
    "a weight of another layer": lists(d=["../c/kernel:0", "d/bias:0"]),
    "a weight from the top": lists(d=["/model_weights/d/d/kernel:0", "d/bias:0"]),
    "a weight that is a group": lists(d=["d", "d/bias:0"]),
    "nothing": lambda file: None,
}


@pytest.mark.slow
@pytest.mark.parametrize("case", OLD)
def test_weights_of_the_older_form(tmp_path: Path, case: str) -> None:
    refused("hdf5", hdf5_file(tmp_path, fill=OLD[case]))


@pytest.mark.slow
@pytest.mark.parametrize("content", [None, 7, [1.5], "", "{", "[]", "x" * MIB])
def test_a_description_that_is_none(tmp_path: Path, content: Any) -> None:
    def fill(file: h5py.File) -> None:
        by_group(file)
        if content is not None:
            file.attrs["model_config"] = content

    (tmp_path / "m.h5").write_bytes(hdf5(fill))
    refused("hdf5", tmp_path / "m.h5")
