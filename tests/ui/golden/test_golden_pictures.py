"""Window, panes and dialogs look as they did when somebody last looked at them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.ui.golden import audit
from tests.ui.golden.audit import SITTINGS, Sitting

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="fonts are drawn by FreeType in the pictures"
)


@pytest.mark.slow
@pytest.mark.parametrize("sitting", SITTINGS, ids=lambda each: each.name)
def test_the_window_looks_as_stored(
    sitting: Sitting, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    audit.take(sitting, tmp_path / sitting.name)
    findings = audit.look(sitting, tmp_path)
    assert findings
    if request.config.getoption("--update-golden"):
        audit.update(findings)
        return
    wrong = [finding for finding in findings if not finding.measured.is_same]
    if not wrong:
        return
    page = audit.write_page(wrong, tmp_path)
    lines = [
        f"{each.name}: {each.measured}\n  expected   {each.expected}\n  found      {each.found}\n"
        f"  difference {each.difference}"
        for each in wrong
    ]
    pytest.fail(
        "\n".join([
            *lines, f"side by side: {page}",
            "If that is how it should look: python -m tests.ui.golden --update",
        ]),
        pytrace=False,
    )  # fmt: skip
