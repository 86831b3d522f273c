"""What every Python from the oldest supported one on reads as the newest does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

_PACKAGE = Path(__file__).parents[2] / "kstream_plan"
#: Before 3.11.5 Python loses what such a group captures: no log was read by the 3.11.2 of Debian 12.
_POSSESSIVE_GROUP = re.compile(r"\)(?:[*+?]|\{\d*,?\d*\})\+|\(\?>")


@pytest.mark.parametrize("path", sorted(_PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(_PACKAGE)))
def test_no_pattern_has_a_possessive_group(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if re.search(r"\br?[bf]?r?[\"']", line) and _POSSESSIVE_GROUP.search(line)] == []


def test_the_pattern_that_was_read_otherwise_is_found() -> None:
    assert _POSSESSIVE_GROUP.search(r"((?:[^\]]++|\](?!\)))*+)")
    assert not _POSSESSIVE_GROUP.search(r"([^\]]*+(?:\](?!\))[^\]]*+)*)")
