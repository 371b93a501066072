"""A folder of images, one folder per class, as a data set."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import DataError, EmptyDataError, quoted
from studio.engine.core.interruption import go_on
from studio.engine.train.data.cleaning import Policy
from studio.engine.train.data.dataset import Dataset
from studio.engine.train.data.images.bad_images import BadImages
from studio.engine.train.data.images.decode import (
    IMAGE_SUFFIXES,
    RESIZE,
    Channels,
    Pixels,
    decode_image,
    peek_image,
)
from studio.engine.train.data.source_files import DEFAULT_LIMITS, DataLimits
from studio.engine.train.data.stored_rows import Array, Indices, StoredRows

ColorMode: TypeAlias = Literal["auto", "grayscale", "rgb"]

_ARRANGE = "make one folder per class and put its images there"
_LOOKED_AT = 20_000
# Fewer pictures are read one after another; and the most threads that read.
_FEW, _DECODERS = 8, 4

_TRAIN, _TEST = "train", ("test", "val", "validation", "valid")


@dataclass(frozen=True, slots=True)
class FolderOptions:
    """How to read a folder of images.

    Args:
        size: height and width of every sample, or None for the commonest (the smaller on a tie);
            others are resampled.
        color_mode: grayscale, rgb, or ``auto``: grayscale if every image is grey.
        class_names: class folders in the order of their indices, or empty for the sorted names.
        bad_images: what happens to images that cannot be read.
    """

    size: tuple[int, int] | None = None
    color_mode: ColorMode = "auto"
    class_names: tuple[str, ...] = ()
    bad_images: Policy = "refuse"


_DEFAULT_OPTIONS = FolderOptions()


@dataclass(slots=True)
class _Found:
    """Image files with their class indices, what was skipped, and the folder they are under."""

    root: Path
    class_names: tuple[str, ...]
    files: list[Path]
    labels: list[int]
    skipped: int = 0

    def name_of(self, path: Path) -> str:
        return f"{self.root.name}/{path.relative_to(self.root).as_posix()}"


def load_image_folder(
    root: Path, options: FolderOptions = _DEFAULT_OPTIONS, limits: DataLimits = DEFAULT_LIMITS
) -> Dataset:
    """A folder whose subfolders are classes as a data set of uint8 [n, height, width, channels].

    Files are taken in the sorted order of class and path, at any depth; hidden ones and those that
    are not images by name are skipped and counted. A folder that holds only ``train`` and ``test``
    (or ``val``, ``validation``, ``valid``) is read as a training and a held-out part.

    Raises:
        DataError: no class folders, an empty one, a damaged image, a link that leaves the folder,
            or more than the caps allow, each by name.
    """
    names = class_folders(root)
    test = [name for name in names if name in _TEST]
    if _TRAIN in names and len(test) == 1 and len(names) == 2:
        train = _load_part(root / _TRAIN, options, limits)
        height, width, channels = train.sample_shape
        same: FolderOptions = FolderOptions(
            (height, width), "grayscale" if channels == 1 else "rgb", train.class_names,
            options.bad_images,
        )  # fmt: skip
        held_out = _load_part(root / test[0], same, limits)
        cleaning = train.cleaning.joined(held_out.cleaning)
        return replace(train, name=root.name, held_out=held_out, cleaning=cleaning)
    return _load_part(root, options, limits)


def _load_part(root: Path, options: FolderOptions, limits: DataLimits) -> Dataset:
    found = _find_images(root, options.class_names, limits)
    sizes: Counter[tuple[int, int]] = Counter()
    channels: Channels = 3 if options.color_mode == "rgb" else 1
    bad = BadImages(options.bad_images)
    for path in found.files:
        go_on()
        with bad.skipping(path):
            if bad.skips:
                # A header may be whole and the rest damaged; what is left out must not count.
                decode_image(path, 1, None, found.name_of(path), limits)
            size, own_channels = peek_image(path, found.name_of(path), limits)
        if path in bad.paths:
            continue
        sizes[size] += 1
        if options.color_mode == "auto" and own_channels == 3:
            channels = 3
    if bad.paths:
        found = _without(found, bad)
    size = options.size or min(sizes, key=lambda key: (-sizes[key], key[0] * key[1], key))
    names = [found.name_of(path) for path in found.files]
    stamps = [picture_stamp(path, name) for path, name in zip(found.files, names, strict=True)]
    pictures = PictureRows(found.files, names, stamps, (*size, channels), limits)
    # Pictures that memory is too small for are read from their files in every epoch.
    x = pictures if pictures.nbytes > limits.memory_bytes else pictures.in_memory()
    resized = sum(count for other, count in sizes.items() if other != size)
    notes = []
    if found.skipped:
        others = (
            "1 file that is no image"
            if found.skipped == 1
            else f"{found.skipped} files that are not images"
        )
        notes.append(f"skipped {others}")
    if resized:
        notes.append(
            f"resampled {resized} image{'' if resized == 1 else 's'} to {size[0]}x{size[1]}"
        )
    return Dataset(
        x=x,
        y=np.array(found.labels, dtype=np.int32),
        name=root.name,
        kind="images",
        class_names=found.class_names,
        value_range=(0.0, 255.0),
        notes=tuple(notes),
        resize=RESIZE,
        cleaning=bad.cleaning(),
    )


def _without(found: _Found, bad: BadImages) -> _Found:
    """The images that can be read; DataError where a class has none of them."""
    kept = [(p, k) for p, k in zip(found.files, found.labels, strict=True) if p not in bad.paths]
    for index in dict.fromkeys(found.labels):
        if not any(label == index for _, label in kept):
            raise DataError(
                f"no image of class {quoted(found.class_names[index])} can be read: all "
                f"{found.labels.count(index):,} would be skipped",
                who=found.root.name,
                hint="mend the images, or remove the folder",
            )
    return replace(found, files=[p for p, _ in kept], labels=[k for _, k in kept])


class PictureRows(StoredRows):
    """Pictures of a folder that stay in their files: uint8 [n, height, width, channels].

    Args:
        files: the pictures.
        names: what errors call them.
        stamps: of the files when they were found, see `picture_stamp`.
        sample: height, width and channels they are brought to.
        limits: caps; ``resident_bytes`` is what pictures may take in memory.
        chosen: which of them, where not all.
    """

    def __init__(
        self, files: Sequence[Path], names: Sequence[str], stamps: Sequence[tuple[int, int]],
        sample: tuple[int, int, Channels], limits: DataLimits, chosen: Indices | None = None,
    ) -> None:  # fmt: skip
        dtype = np.dtype(np.uint8)
        super().__init__((len(files), *sample), dtype, limits.memory_bytes, chosen)
        self._sample = sample
        self._files = files
        self._names = names
        self._stamps = stamps
        self._limits = limits

    def in_memory(self) -> Pixels:
        """All of them, read now; asks in between whether to go on."""
        found = np.empty(self.shape, np.uint8)
        for index in range(len(self)):
            go_on()
            found[index] = self._picture(index)
        return found

    def _with(self, chosen: Indices) -> Self:
        made = (self._files, self._names, self._stamps, self._sample, self._limits)
        return type(self)(*made, chosen)

    def _read(self, places: npt.NDArray[np.int64]) -> Array:
        found = np.empty((len(places), *self._sample), np.uint8)

        def fill(index: int) -> None:
            found[index] = self._picture(int(places[index]))

        if len(places) < _FEW:
            for index in range(len(places)):
                fill(index)
            return found
        # Decoders let other threads run.
        with ThreadPoolExecutor(min(_DECODERS, os.cpu_count() or 1), "image reader") as pool:
            for _ in pool.map(fill, range(len(places))):
                go_on()
        return found

    def _picture(self, place: int) -> Pixels:
        path, name = self._files[place], self._names[place]
        if picture_stamp(path, name) != self._stamps[place]:
            raise DataError(
                "the image was changed while the data was in use", who=name,
                hint="open the data again",
            )  # fmt: skip
        height, width, channels = self._sample
        return decode_image(path, channels, (height, width), name, self._limits)


def picture_stamp(path: Path, who: str) -> tuple[int, int]:
    """Size and time of a file, by which a change is noticed; DataError where it is gone."""
    try:
        status = path.stat()
    except OSError as error:
        gone = isinstance(error, FileNotFoundError)
        raise DataError(
            "the image is no longer there" if gone else f"cannot read it: {error.strerror}",
            who=who,
            hint="put it back, or open the data again" if gone else "",
        ) from None
    return status.st_size, status.st_mtime_ns


def class_folders(root: Path) -> list[str]:
    """Names of the visible folders directly in ``root``, sorted; without folders of runs."""
    try:
        with os.scandir(root) as entries:
            found = {entry.name: entry.is_dir() for entry in entries if entry.name[0] != "."}
        return sorted(n for n, is_folder in found.items() if is_folder and not _is_runs(root / n))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"the folder {root} cannot be read: {reason}", who=root.name) from None


def _find_images(root: Path, class_names: tuple[str, ...], limits: DataLimits) -> _Found:
    present = class_folders(root)
    if len(present) < 2:
        raise EmptyDataError(
            f"expected one folder per class, at least two: {root} has "
            f"{'only ' + quoted(present[0]) if present else 'none'}",
            who=root.name,
            hint=_ARRANGE,
        )
    unknown = [name for name in present if class_names and name not in class_names]
    if unknown or len(present) > limits.classes:
        raise DataError(
            f"class folder {quoted(unknown[0])} is none of the stated classes"
            if unknown
            else f"too many class folders: at most {limits.classes}, got {len(present)}",
            who=root.name,
        )
    found = _Found(root, class_names or tuple(present), [], [])
    for index, name in enumerate(found.class_names):
        before = len(found.files)
        if name in present:
            refuse_links_outside(root / name, root)
            for path in walk(root / name):
                if path.suffix.lower() not in IMAGE_SUFFIXES or path.name.startswith("."):
                    found.skipped += 1
                    continue
                refuse_links_outside(path, root)
                found.files.append(path)
                found.labels.append(index)
                if len(found.files) > limits.images:
                    raise DataError(f"too many images: at most {limits.images}", who=root.name)
        if len(found.files) == before and (name in present or not class_names):
            raise _without_images(root, name, present)
    return found


def _without_images(root: Path, missing: str, present: list[str]) -> DataError:
    """What to say of a class folder that holds none: do the others hold any?"""
    holding = [name for name in present if name != missing and _holds_images(root / name)]
    if not holding:
        return EmptyDataError("there are no images in this folder", who=root.name, hint=_ARRANGE)
    if len(holding) == 1:
        return EmptyDataError(
            f"expected images of at least two classes: only folder {quoted(holding[0])} holds any",
            who=root.name,
            hint=_ARRANGE,
        )
    return DataError(
        f"class folder {quoted(missing)} holds no images",
        who=root.name,
        hint="add images, or remove the folder",
    )


def _holds_images(folder: Path) -> bool:
    """Whether there are any; in a folder of very many other files they are not looked for long."""
    looked_at = islice(walk(folder), _LOOKED_AT)
    return any(p.suffix.lower() in IMAGE_SUFFIXES and p.name[0] != "." for p in looked_at)


def walk(folder: Path) -> Iterator[Path]:
    """Files at any depth in sorted order; links to folders further down are not followed."""
    for current, folders, files in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and not _is_runs(Path(current) / name)
        )
        for name in sorted(files):
            yield Path(current) / name


def _is_runs(folder: Path) -> bool:
    """Whether a folder holds the runs of a project that is beside it, or was."""
    if folder.suffix != ".runs":
        return False
    if folder.with_suffix(".glassbox").is_file():
        return True
    with suppress(OSError), os.scandir(folder) as entries:
        return any((folder / entry.name / "settings.json").is_file() for entry in entries)
    return False


def refuse_links_outside(path: Path, root: Path) -> None:
    """DataError for a link that leaves the folder ``root``, which the path is in."""
    if path.is_symlink() and not path.resolve().is_relative_to(root.resolve()):
        raise DataError(
            "this is a link that leaves the folder, which is not followed",
            who=f"{root.name}/{path.relative_to(root).as_posix()}",
            hint="copy the file into the folder",
        )
