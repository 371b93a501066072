"""Folders of pictures and masks with equal names that go to inputs and outputs of a network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import DataError, EmptyDataError, quoted
from studio.engine.core.interruption import go_on
from studio.engine.train.data.dataset import Dataset, InputArray, TargetArray
from studio.engine.train.data.images.bad_images import BadImages
from studio.engine.train.data.images.decode import (
    IMAGE_SUFFIXES,
    RESIZE,
    Channels,
    decode_image,
    decode_mask,
    peek_image,
)
from studio.engine.train.data.images.folder import (
    FolderOptions,
    class_folders,
    refuse_links_outside,
    walk,
)
from studio.engine.train.data.named_parts import NamedArray, named_array
from studio.engine.train.data.source_files import DEFAULT_LIMITS, DataLimits, size_text

Size = tuple[int, int]

_BINARY = (0, 255)


def named_folder(name: str, given: object, is_input: bool) -> NamedArray:
    """One entry of the options ``inputs`` or ``targets``: errors as `named_array`."""
    return named_array(name, given, is_input, "folder")


def load_named_folders(
    root: Path,
    inputs: Sequence[NamedArray],
    targets: Sequence[NamedArray],
    options: FolderOptions,
    limits: DataLimits = DEFAULT_LIMITS,
) -> Dataset:
    """Folders of pictures as inputs and of masks as targets; equal names belong together.

    Names are compared without their endings (``7.jpg`` and ``7.png``), at any depth. Pictures of
    another size than the commonest are resampled bilinearly, and masks take the nearest pixel. Each
    pixel of a mask is the number of a class (of its palette, where it has one); where all are 0 or
    255 these are the classes 0 and 1.

    Args:
        root: the folder they are in.
        inputs: folders of pictures.
        targets: folders of masks.
        options: size and colour of the pictures.
        limits: caps.

    Raises:
        DataError: a folder or picture is missing, damaged, or of another size, by name.
    """
    files = {each.array: _files(root, each.array, limits) for each in (*inputs, *targets)}
    bad = BadImages(options.bad_images, "sample")
    names = _common_names(root, files, bad)
    sizes = _sizes(root, inputs, targets, files, names, bad, limits)
    if not sizes:
        raise DataError(
            f"no sample is left: all {len(bad.paths):,} images would be skipped", who=root.name,
            hint="images that belong together have the same name in every folder",
        )  # fmt: skip
    names = list(sizes)
    counted = Counter(sizes.values())
    usual = options.size or min(counted, key=lambda s: (-counted[s], s[0] * s[1], s))
    total = len(names) * usual[0] * usual[1] * (3 * len(inputs) + 4 * len(targets))
    if total > limits.array_bytes:
        raise DataError(
            f"{len(names)} images of {usual[0]}x{usual[1]} need {size_text(total)}: at most "
            f"{size_text(limits.array_bytes)}",
            who=root.name,
            hint="set a smaller 'size'",
        )
    pictures = tuple(_pictures(root, each, files, names, usual, options, limits) for each in inputs)
    notes: list[str] = []
    masks = tuple(_masks(root, each, files, names, usual, notes, limits) for each in targets)
    resized = sum(count for size, count in counted.items() if size != usual)
    if resized:
        notes.append(
            f"resampled {resized} image{'' if resized == 1 else 's'} to {usual[0]}x{usual[1]}"
        )
    return Dataset(
        x=pictures[0].values,
        y=masks[0].y,
        name=root.name,
        kind="images",
        class_names=masks[0].class_names,
        value_range=pictures[0].value_range,
        notes=tuple(notes),
        inputs=pictures,
        targets=masks,
        cleaning=bad.cleaning(),
    )


def _files(root: Path, folder: str, limits: DataLimits) -> dict[str, Path]:
    """The pictures in a folder by name without ending, sorted."""
    known = class_folders(root)
    if folder not in known:
        shown = ", ".join(map(quoted, known[:12])) or "none"
        raise DataError(f"there is no folder {quoted(folder)}: there are {shown}", who=root.name)
    found: dict[str, Path] = {}
    for path in walk(root / folder):
        if path.suffix.lower() not in IMAGE_SUFFIXES or path.name.startswith("."):
            continue
        refuse_links_outside(path, root)
        name = path.relative_to(root / folder).with_suffix("").as_posix()
        if name in found:
            raise DataError(
                f"two images have the name {quoted(name)}: {found[name].name} and {path.name}",
                who=f"{root.name}/{folder}",
            )
        found[name] = path
        if len(found) > limits.images:
            raise DataError(f"too many images: at most {limits.images}", who=root.name)
    if not found:
        raise EmptyDataError("there are no images in this folder", who=f"{root.name}/{folder}")
    return found


def _common_names(root: Path, files: Mapping[str, Mapping[str, Path]], bad: BadImages) -> list[str]:
    """The names, which all folders must have; those that some lack may be left out."""
    if bad.skips:
        common = set.intersection(*(set(own) for own in files.values()))
        for name in sorted(set().union(*files.values()) - common):
            there = [own[name] for own in files.values() if name in own]
            lacking = next(folder for folder, own in files.items() if name not in own)
            said = f"there is no image of that name in {quoted(lacking)}"
            bad.add(DataError(said, who=_who(root, there[0])), *there)
        return sorted(common)
    for folder, own in files.items():
        for other, theirs in files.items():
            missing = sorted(own.keys() - theirs.keys())
            if missing:
                more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
                raise DataError(
                    f"{own[missing[0]].name}{more} of folder {quoted(folder)} "
                    f"{'have' if more else 'has'} no image of that name in {quoted(other)}",
                    who=root.name,
                    hint="give images that belong together the same name in every folder",
                )
    return sorted(next(iter(files.values())))


def _sizes(
    root: Path,
    inputs: Sequence[NamedArray],
    targets: Sequence[NamedArray],
    files: Mapping[str, Mapping[str, Path]],
    names: Sequence[str],
    bad: BadImages,
    limits: DataLimits,
) -> dict[str, Size]:
    """The size of each sample's picture, which its masks must have; without those left out."""
    found = {}
    for name in names:
        go_on()
        with bad.skipping(*(own[name] for own in files.values())):
            if bad.skips:
                # A header may be whole and the rest damaged.
                for each in inputs:
                    path = files[each.array][name]
                    decode_image(path, 1, None, _who(root, path), limits)
            first = files[inputs[0].array][name]
            size, _ = peek_image(first, _who(root, first), limits)
            for each in targets:
                path = files[each.array][name]
                own, _ = peek_image(path, _who(root, path), limits)
                if own != size:
                    raise DataError(
                        f"the mask has {own[0]}x{own[1]} pixels, its image "
                        f"{_who(root, first)} has {size[0]}x{size[1]}",
                        who=_who(root, path),
                        hint="save the mask in the size of its image",
                    )
                if bad.skips:
                    decode_mask(path, size, _who(root, path), limits)
            found[name] = size
    return found


def _pictures(
    root: Path,
    wanted: NamedArray,
    files: Mapping[str, Mapping[str, Path]],
    names: Sequence[str],
    size: Size,
    options: FolderOptions,
    limits: DataLimits,
) -> InputArray:
    own = files[wanted.array]
    channels: Channels = 3 if options.color_mode == "rgb" else 1
    if options.color_mode == "auto" and any(
        peek_image(own[name], _who(root, own[name]), limits)[1] == 3 for name in names
    ):
        channels = 3
    x = np.empty((len(names), *size, channels), np.uint8)
    for place, name in enumerate(names):
        go_on()
        x[place] = decode_image(own[name], channels, size, _who(root, own[name]), limits)
    span = wanted.value_range or (0.0, 255.0)
    return InputArray(
        wanted.name, x, "images", span, wanted.kind_of_normalization, wanted.array, resize=RESIZE
    )


def _masks(
    root: Path,
    wanted: NamedArray,
    files: Mapping[str, Mapping[str, Path]],
    names: Sequence[str],
    size: Size,
    notes: list[str],
    limits: DataLimits,
) -> TargetArray:
    own, who = files[wanted.array], f"{root.name}/{wanted.array}"
    if wanted.task == "regression":
        raise DataError("masks hold class numbers, not numbers to predict", who=who)
    y: npt.NDArray[np.int32] = np.empty((len(names), *size), np.int32)
    for place, name in enumerate(names):
        go_on()
        y[place] = decode_mask(own[name], size, _who(root, own[name]), limits)
    present = np.flatnonzero(np.bincount(y.ravel()))
    if tuple(present.tolist()) == _BINARY:
        y //= _BINARY[1]
        present = np.arange(2)
        notes.append(f"masks of {wanted.array}: 0 and 255 are read as the classes 0 and 1")
    count = int(present[-1]) + 1
    class_names = wanted.class_names or tuple(map(str, range(count)))
    if count > len(class_names):
        most = y.reshape(len(y), -1).max(axis=1)
        place = int(np.argmax(most >= len(class_names)))
        raise DataError(
            f"the mask holds class {most[place]}, got names for {len(class_names)} classes",
            who=_who(root, own[names[place]]),
            hint=f"name {count} classes, or save masks with numbers up to {len(class_names) - 1}",
        )
    if len(class_names) < 2:
        raise DataError("expected at least two classes: every pixel is 0", who=who)
    return TargetArray(wanted.name, y, class_names)


def _who(root: Path, path: Path) -> str:
    return f"{root.name}/{path.relative_to(root).as_posix()}"
