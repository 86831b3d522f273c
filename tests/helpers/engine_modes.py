"""The engine's modules in both of their modes: compiled, if they are, and as plain Python.

With ``KSTREAM_PLAN_UNCOMPILED=1`` a whole run of tests takes them as plain Python, whatever is installed.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ENGINE = "kstream_plan.engine"


class _SourceAlone(MetaPathFinder):
    """Finds the engine's modules as source, though a compiled one lies beside it."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        package, _, module = name.rpartition(".")
        if package != ENGINE or not path:
            return None
        return spec_from_file_location(name, Path(path[0]) / f"{module}.py")


def take_plain_engine() -> None:
    """Take the engine's modules as plain Python from now on."""
    sys.meta_path.insert(0, _SourceAlone())


@contextmanager
def _plain() -> Iterator[None]:
    package = importlib.import_module(ENGINE)
    names = [name for name in sys.modules if name.startswith(f"{ENGINE}.")]
    known = {name: sys.modules.pop(name) for name in names}
    take_plain_engine()
    try:
        yield
    finally:
        del sys.meta_path[0]
        for name in [name for name in sys.modules if name.startswith(f"{ENGINE}.")]:
            del sys.modules[name]
        sys.modules.update(known)
        for name, module in known.items():
            setattr(package, name.rpartition(".")[2], module)


def engine_module(name: str, mode: str) -> Any:
    """Return a module of the engine, ``compiled`` or ``plain``; skip the test where it is not compiled."""
    if mode == "plain":
        with _plain():
            return importlib.import_module(f"{ENGINE}.{name}")
    module = importlib.import_module(f"{ENGINE}.{name}")
    if str(module.__file__).endswith(".py"):
        pytest.skip("compiled at installation, if there is a C compiler")
    return module


both_modes = pytest.mark.parametrize("mode", ["compiled", "plain"])
