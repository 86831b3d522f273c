"""Commands that are ended at random moments; ``signals.py`` does so as often as one likes."""

from __future__ import annotations

import os

import pytest

from tests.fuzz.signals import COMMANDS, WITH_SPARK, tried

_STARTS_JAVA = [pytest.mark.spark, pytest.mark.xdist_group("processes with a Java of their own")]
STARTS = int(os.environ.get("KSTREAM_PLAN_STARTS", "1"))


@pytest.mark.parametrize(
    "command",
    [pytest.param(name, marks=_STARTS_JAVA) if name in WITH_SPARK else name for name in COMMANDS],
)
def test_a_command_ends_at_any_moment(command: str) -> None:
    assert tried(command, STARTS, "every run")[1] == []
