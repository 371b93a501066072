"""The examples of ``docs/library.md`` that build networks run as they are written."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from studio.engine import Model

LIBRARY = Path(__file__).parents[2] / "docs" / "library.md"


@pytest.mark.slow
def test_networks_of_your_own_are_built_trained_and_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = LIBRARY.read_text(encoding="utf-8")
    section = text[text.index("## A network of your own") : text.index("## What is included")]
    examples = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert len(examples) == 6
    # Each begins where the one before it ended, as a reader's interpreter would.
    names: dict[str, object] = {}
    for example in examples:
        exec(example, names)
    assert "tower (Model)" in capsys.readouterr().out
    pair, twins = names["model"], names["twins"]
    assert isinstance(pair, Model)
    assert isinstance(twins, Model)
    assert names["small"].predict(np.ones((3, 6))).shape == (3, 1)  # type: ignore[attr-defined]
    assert len(names["answers"]) == 24  # type: ignore[arg-type]
    again = Model.load(tmp_path / "pair.glassbox")
    kinds, sizes = again.predict(names["x"])
    assert (kinds.shape, sizes.shape) == ((200, 2), (200, 1))
    assert (tmp_path / "mine.glassbox").is_file()
