"""The versions that ``.ci/lock`` wrote fit what ``pyproject.toml`` asks for, and are what ``.ci/run`` installs."""

from __future__ import annotations

import os
import tomllib
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCKED = {
    canonicalize_name(name): version
    for name, version in (
        line.split("==") for line in (ROOT / ".ci/constraints.txt").read_text(encoding="utf-8").splitlines()
    )
}
#: Come with Python, or are built here.
_NOT_LOCKED = {"pip", "setuptools", "wheel", "kstream-plan"}


def _asked_for() -> list[str]:
    extras = PROJECT["project"]["optional-dependencies"]
    asked = [*PROJECT["build-system"]["requires"], *PROJECT["project"]["dependencies"]]
    return sorted({*asked, *extras["dev"], *extras["balanced"], *extras["kafka"]})


@pytest.mark.parametrize("line", _asked_for())
def test_a_requirement_allows_the_locked_version(line: str) -> None:
    requirement = Requirement(line)
    locked = LOCKED.get(canonicalize_name(requirement.name))
    assert locked is not None, ".ci/lock writes it"
    assert requirement.specifier.contains(locked), ".ci/lock writes one that fits"


@pytest.mark.skipif("PIP_CONSTRAINT" not in os.environ, reason="only .ci/run installs the locked versions")
def test_ci_runs_with_what_is_locked() -> None:
    installed = {canonicalize_name(one.metadata["Name"]): one.version for one in distributions()}
    other = {name: version for name, version in installed.items() if LOCKED.get(name) != version}
    assert {name: version for name, version in other.items() if name not in _NOT_LOCKED} == {}, ".ci/lock"
