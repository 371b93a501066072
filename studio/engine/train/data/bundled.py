"""The data sets that come with Glassbox: where their files are, and the records made of them."""

from dataclasses import replace
from pathlib import Path

from studio.engine.core.errors import DataError, quoted
from studio.engine.train.data.arrays.numpy_files import ArrayOptions, load_npz
from studio.engine.train.data.csv.table import CsvOptions, load_csv
from studio.engine.train.data.dataset import Dataset

_LICENCE = "CC BY 4.0"
_PACKAGE = Path(__file__).resolve().parents[3]


def bundled_path(name: str) -> Path:
    """The file called ``name`` among the bundled data, in a checkout or in an installed package.

    Raises:
        DataError: there is no such file.
    """
    checkout = _PACKAGE.parent
    folders = [_PACKAGE / "projects" / "data"]
    if (checkout / "pyproject.toml").is_file():
        folders.insert(0, checkout / "projects" / "data")
    for folder in folders:
        if Path(name).name == name and (folder / name).is_file():
            return folder / name
    raise DataError(
        f"there is no bundled file {quoted(name)}",
        who="data",
        hint="the installation is incomplete: install Glassbox again",
    )


def load_digits() -> Dataset:
    """1,797 handwritten digits, uint8 [8, 8, 1] of values 0 to 16, ten classes."""
    loaded = load_npz(bundled_path("digits.npz"), ArrayOptions(value_range=(0.0, 16.0)))
    return replace(
        loaded,
        attribution="Optical Recognition of Handwritten Digits, E. Alpaydin and C. Kaynak (1998), "
        "UCI Machine Learning Repository, https://doi.org/10.24432/C50P49",
        licence=_LICENCE,
    )


def load_iris() -> Dataset:
    """150 iris flowers: four measurements in centimetres, three species."""
    loaded = load_csv(bundled_path("iris.csv"), CsvOptions(label="species"))
    return replace(
        loaded,
        attribution="Iris, R. A. Fisher (1936), UCI Machine Learning Repository, "
        "https://doi.org/10.24432/C56C76",
        licence=_LICENCE,
    )
