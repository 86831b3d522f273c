"""A browser for the tests of pages, and axe-core, which looks for what some people could not use."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.chromium import Browser, chromium

_AXE = "axe-core@4.10.3"


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Debian's Chromium, or another one of this system."""
    path = chromium()
    if path is None:
        pytest.skip("there is no chromium: apt-get install chromium")
    started = Browser(path, tmp_path_factory.mktemp("profile"))
    try:
        started.__enter__()
    except (AssertionError, OSError):
        started.__exit__(None, None, None)
        pytest.skip(f"{path} does not start here")
    yield started
    started.__exit__(None, None, None)


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script of axe-core, from npm."""
    folder = tmp_path_factory.mktemp("axe")
    if shutil.which("npm") is None:
        pytest.skip("there is no npm to fetch axe-core with")
    try:
        fetched = subprocess.run(["npm", "pack", _AXE], cwd=folder, capture_output=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip("axe-core cannot be fetched")
    if fetched.returncode:
        pytest.skip("axe-core cannot be fetched")
    [archive] = folder.glob("*.tgz")
    with tarfile.open(archive) as packed:
        member = packed.extractfile("package/axe.min.js")
        assert member is not None
        return member.read().decode()


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pages are written to be opened."""
    return tmp_path_factory.mktemp("pages")
