"""The bundled files are the published data, found in a checkout and in an installed package."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.errors import DataError
from studio.engine.train.data import builtin
from studio.engine.train.data.builtin import bundled_path, load_digits, load_iris

UCI_TEST_COUNTS = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
"""Samples per digit that the UCI description states for the test part."""


def test_digits_are_the_uci_test_part() -> None:
    data = load_digits()
    assert data.x.shape == (1797, 8, 8, 1)
    assert data.x.dtype == np.uint8
    assert (data.x.min(), data.x.max()) == (0, 16)
    assert data.value_range == (0.0, 16.0)
    assert list(data.class_counts().values()) == UCI_TEST_COUNTS
    assert data.x[0, 0, :, 0].tolist() == [0, 0, 5, 13, 9, 1, 0, 0]
    assert data.x[0, 7, :, 0].tolist() == [0, 0, 6, 13, 10, 0, 0, 0]
    assert data.y[:10].tolist() == list(range(10))
    assert "Alpaydin" in data.attribution
    assert data.licence == "CC BY 4.0"


def test_iris_is_fishers_table() -> None:
    data = load_iris()
    assert data.class_counts() == {"setosa": 50, "versicolor": 50, "virginica": 50}
    assert data.feature_names == ("sepal_length", "sepal_width", "petal_length", "petal_width")
    np.testing.assert_allclose(data.x[0], [5.1, 3.5, 1.4, 0.2], rtol=1e-6)
    # The two rows that are wrong in the repository's file and right in Fisher's paper.
    np.testing.assert_allclose(data.x[34], [4.9, 3.1, 1.5, 0.2], rtol=1e-6)
    np.testing.assert_allclose(data.x[37], [4.9, 3.6, 1.4, 0.1], rtol=1e-6)
    mean = data.x.astype(np.float64).mean(axis=0)
    np.testing.assert_allclose(mean, [5.8433, 3.0573, 3.758, 1.1993], atol=1e-4)
    assert "Fisher" in data.attribution


def test_attribution_and_licence_lie_beside_the_files() -> None:
    folder = bundled_path("digits.npz").parent
    attribution = (folder / "ATTRIBUTION.md").read_text(encoding="utf-8")
    for part in ("Alpaydin", "Kaynak", "Fisher", "10.24432/C50P49", "10.24432/C56C76"):
        assert part in attribution
    assert "CC BY 4.0" in (folder / "LICENSE-CC-BY-4.0.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["none.npz", "../iris.csv", "", "."])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(DataError, match="no bundled file"):
        bundled_path(name)


@pytest.mark.slow
def test_installed_package_finds_its_own_copy(tmp_path: Path) -> None:
    package = Path(builtin.__file__).resolve().parents[3]
    skip = shutil.ignore_patterns("__pycache__", "gl", "cpu", "ui")
    shutil.copytree(package, tmp_path / "studio", ignore=skip)
    target = tmp_path / "studio" / "projects" / "data"
    shutil.copytree(bundled_path("iris.csv").parent, target, dirs_exist_ok=True)
    code = (
        "from studio.engine.train.data.builtin import bundled_path, load_iris\n"
        "import sys; sys.stdout.write(f'{bundled_path(\"iris.csv\")} {len(load_iris())}')"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert result.stdout == f"{target / 'iris.csv'} 150"
