"""The wheel and the sources that a release has, installed anew on a machine without a compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.wheel, pytest.mark.xdist_group("wheel")]

ROOT = Path(__file__).parents[2]
_COMPILERS = ("cc", "gcc", "c++", "g++", "clang")
_LEFT_BY_OTHERS = shutil.ignore_patterns("*.c", "*.so", "__pycache__")


def call(*command: object, **more: str) -> str:
    done = subprocess.run(list(map(str, command)), env=os.environ | more, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module", autouse=True)
def locked() -> None:
    """Have pip find the locked versions, where there are some, from any folder."""
    if "PIP_CONSTRAINT" in os.environ:
        os.environ["PIP_CONSTRAINT"] = str(ROOT / os.environ["PIP_CONSTRAINT"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``python -m build`` leaves in ``dist`` of a clean checkout."""
    checkout = tmp_path_factory.mktemp("checkout")
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, checkout)
    shutil.copytree(ROOT / "kstream_plan", checkout / "kstream_plan", ignore=_LEFT_BY_OTHERS)
    call(sys.executable, "-m", "build", checkout)
    return checkout / "dist"


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a machine that has no compiler, with a new virtual environment on its path."""
    folder = tmp_path_factory.mktemp("bare")
    (folder / "none").mkdir()
    for name in _COMPILERS:
        (folder / "none" / name).symlink_to("/bin/false")
    call(sys.executable, "-m", "venv", folder / "venv")
    return {"PATH": f"{folder / 'none'}:{folder / 'venv' / 'bin'}:{os.defpath}", "CC": "/bin/false"}


def test_a_wheel_is_compiled_and_sources_work_without_a_compiler(folder: Path, bare: dict[str, str]) -> None:
    tried = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["cibuildwheel"]
    [wheel], [sources] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    project = {str(path.relative_to(ROOT)) for path in (ROOT / "kstream_plan" / "plugin").rglob("*") if path.is_file()}
    with zipfile.ZipFile(wheel) as archive:
        assert {name for name in archive.namelist() if name.startswith("kstream_plan/plugin/")} == project
    call("sh", "-c", f"pip install -q {wheel}", **bare)
    version, plan = call("sh", "-c", tried["test-command"].format(project=ROOT), **bare).split("\n", maxsplit=1)
    assert version.endswith("(compiled)")
    assert "orders" in plan
    call("sh", "-c", f"pip install -q --force-reinstall --no-deps {sources}", **bare)
    assert call("sh", "-c", "kstream-plan --version", **bare).endswith("(plain Python)\n")
    assert call("sh", "-c", f"kstream-plan assign {ROOT}/examples/scale-out/snapshot.json", **bare) == plan
