"""The table of measured choices: one small JSON file in the user's cache folder, by device.

A table that is damaged, of another device or driver, or measured with other kernels counts as
absent, and one line of the log says why.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from studio.engine.core.errors import BackendError, quoted
from studio.engine.gl.choices.signatures import op_signature, product_signature
from studio.engine.gl.device.binary_cache import default_folder
from studio.engine.gl.glsl.files import glsl_files
from studio.engine.gl.kernels.product import Product
from studio.engine.gl.kernels.specs import SHIPPED, BoundInstruction, Choices
from studio.engine.gl.kernels.tiles import REGISTER_TILES, TILES, Tile

FORMAT = "glassbox-tuning"
VERSION = 1
FILE_NAME = "tuning.json"
_MAX_BYTES = 16 << 20
_MAX_PARTS = 65536
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Measured:
    """What was fastest for one signature.

    Attributes:
        variant: name of the kernel variant; of a product the tile.
        parts: parts the depth of a product is cut into, 0 for a whole instruction.
        median_us: microseconds it took.
        gain: how many times as fast as what the shipped tables choose.
    """

    variant: str
    parts: int
    median_us: float
    gain: float


class UnusableTableError(Exception):
    """A table that is of no use here.

    Args:
        why: the reason, as a log shows it.
        is_foreign: whether it is sound, but another device's.
    """

    def __init__(self, why: str, *, is_foreign: bool = False) -> None:
        super().__init__(why)
        self.is_foreign = is_foreign


Rows = Mapping[str, Measured]


def tile_variant(tile: Tile) -> str:
    """The name of the variant that always takes a tile."""
    return f"{'tiles' if tile.shared else 'registers'}_{tile.name}"


class MeasuredChoices(Choices):
    """Measured choices by signature, as the planner asks for them.

    Args:
        rows: what was measured.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = dict(rows)
        self._mnemonics = {sign.partition(" ")[0] for sign, row in rows.items() if not row.parts}

    @property
    def name(self) -> str:
        """How many choices, and a hash of them."""
        chosen = sorted((sign, row.variant, row.parts) for sign, row in self.rows.items())
        digest = hashlib.sha256(repr(chosen).encode()).hexdigest()[:12]
        return f"{len(chosen)} measured #{digest}"

    @staticmethod
    def sign_of(op: BoundInstruction, product: Product | None = None) -> str:
        """The signature of an instruction, or of a product it consists of."""
        return op_signature(op) if product is None else product_signature(op, product)

    def variant(self, op: BoundInstruction) -> str:
        """The measured variant of an instruction; empty where none is."""
        if op.ins.mnemonic not in self._mnemonics:
            return ""
        row = self.rows.get(self.sign_of(op))
        return row.variant if row is not None and not row.parts else ""

    def tile(
        self, op: BoundInstruction, product: Product, tiles: Sequence[Tile]
    ) -> tuple[Tile, int] | None:
        """The measured tile and parts of a product, where it is one of those to choose from."""
        row = self.rows.get(self.sign_of(op, product))
        if row is None or not row.parts:
            return None
        return next(((t, row.parts) for t in tiles if tile_variant(t) == row.variant), None)


def table_path() -> Path | None:
    """Where the table lies; None where there is no cache folder."""
    folder = default_folder()
    return None if folder is None else folder.parent / FILE_NAME


def require_path() -> Path:
    """Where the table is to lie; BackendError where there is no cache folder."""
    path = table_path()
    if path is None:
        raise BackendError(
            "there is no cache folder for the tuned kernels",
            who="tune",
            hint="set GLASSBOX_CACHE_DIR to a folder",
        )
    return path


@cache
def kernels_digest() -> str:
    """Hash of all kernels and tiles: what was measured with others says nothing about these."""
    digest = hashlib.sha256(repr((TILES, REGISTER_TILES)).encode())
    for folder in ("kernels", "lib"):
        for name, file in glsl_files(folder).items():
            digest.update(name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def load_choices(fingerprint: str) -> Choices:
    """What was measured for this device and driver; the shipped choice where nothing was."""
    path = table_path()
    if path is None or not path.is_file():
        return SHIPPED
    try:
        rows = load_rows(path, fingerprint)
    except UnusableTableError as error:
        level = logging.INFO if error.is_foreign else logging.WARNING
        _LOG.log(level, "the measured choices in %s are not used: %s", path, error)
        return SHIPPED
    return MeasuredChoices(rows) if rows else SHIPPED


def load_rows(path: Path, fingerprint: str) -> dict[str, Measured]:
    """The rows of one device.

    Raises:
        UnusableTableError: the file is damaged, or measured elsewhere or with other kernels.
    """
    try:
        entry = _devices(path).get(fingerprint)
        if entry is None:
            raise UnusableTableError("they are for another device or driver", is_foreign=True)
        device = _object(entry, "a device")
        if device.get("kernels") != kernels_digest():
            raise UnusableTableError("they were measured with other kernels; tune again")
        return _rows(_object(device.get("choices"), "the choices of a device"))
    except (OSError, ValueError, RecursionError) as error:
        raise UnusableTableError(f"the file is damaged ({error})") from None


def keep_rows(fingerprint: str, fresh: Rows, stale: Iterable[str] = ()) -> Path:
    """Put rows into the table of a device, beside what is there, and write it.

    Args:
        fingerprint: the device and its driver.
        fresh: what was measured now.
        stale: signatures for which the shipped choice proved best, so that old rows of them go.

    Raises:
        BackendError: there is no cache folder, or it cannot be written.
    """
    path = require_path()
    rows: dict[str, Measured] = {}
    devices: dict[str, Any] = {}
    # What is of no use is not worth keeping either; other devices' choices are.
    with suppress(UnusableTableError):
        rows = load_rows(path, fingerprint)
    with suppress(OSError, ValueError, RecursionError):
        devices = _devices(path)
    for sign in stale:
        rows.pop(sign, None)
    rows.update(fresh)
    choices = {sign: asdict(row) for sign, row in sorted(rows.items())}
    devices[fingerprint] = {"kernels": kernels_digest(), "choices": choices}
    content = json.dumps({"format": FORMAT, "version": VERSION, "devices": devices}, indent=1)
    _write(path, content.encode())
    return path


def forget() -> bool:
    """Remove the table with all devices in it; False where there was none.

    Raises:
        BackendError: it cannot be removed.
    """
    path = table_path()
    if path is None:
        return False
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise BackendError(
            f"the table cannot be removed: {error.strerror or error}", who=str(path)
        ) from None
    return True


def _write(path: Path, content: bytes) -> None:
    """Put a file in place whole or not at all, even if another process writes it too."""
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        raise BackendError(
            f"the tuned kernels cannot be saved: {error.strerror or error}",
            who=str(path),
            hint="set GLASSBOX_CACHE_DIR to a writable folder",
        ) from None


def _devices(path: Path) -> dict[str, Any]:
    """The devices of a file; ValueError where it is no table."""
    if path.stat().st_size > _MAX_BYTES:
        raise ValueError("it is too large")
    found = json.loads(path.read_bytes().decode("utf-8"))
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ValueError("it is something else")
    if found.get("version") != VERSION:
        raise ValueError(f"it is of version {str(found.get('version'))[:20]}, not {VERSION}")
    return _object(found.get("devices"), "the list of devices")


def _object(value: object, what: str) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise ValueError(f"{what} is no object")


def _rows(found: dict[str, Any]) -> dict[str, Measured]:
    rows: dict[str, Measured] = {}
    for sign, row in found.items():
        if not isinstance(row, dict) or set(row) != set(Measured.__annotations__):
            raise ValueError(f"the choice of {quoted(sign)} is incomplete")
        parts = row["parts"]
        whole = isinstance(parts, int) and not isinstance(parts, bool) and 0 <= parts <= _MAX_PARTS
        numbers = _is_positive(row["median_us"]) and _is_positive(row["gain"])
        if not (isinstance(row["variant"], str) and whole and numbers):
            raise ValueError(f"the choice of {quoted(sign)} is out of range")
        rows[sign] = Measured(row["variant"], parts, float(row["median_us"]), float(row["gain"]))
    return rows


def _is_positive(value: object) -> bool:
    """Whether a value is a number above 0 that is neither NaN nor infinite."""
    if isinstance(value, bool) or not isinstance(value, float | int):
        return False
    return math.isfinite(value) and value > 0
