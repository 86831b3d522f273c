"""What makes a page knows no width, no markup and no JSON, and takes no sentence apart."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "kstream_plan" / "render" / "pages"
FILES = sorted(PAGES.glob("*.py"))
_FORBIDDEN = {"rich", "jinja2", "json", "re"}
_TAKES_APART = {"partition", "rpartition", "removesuffix", "removeprefix", "split", "rsplit", "splitlines", "strip"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_it_imports_nothing_that_draws(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            assert name.split(".")[0] not in _FORBIDDEN, (file.name, name)
            assert not name.startswith("kstream_plan.render.report"), (file.name, name)
            assert name not in ("kstream_plan.render.terminal", "kstream_plan.render.markdown"), (file.name, name)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_it_takes_no_sentence_apart_and_knows_no_width(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            assert node.func.attr not in _TAKES_APART, (file.name, node.lineno, node.func.attr)
        if isinstance(node, ast.arg):
            assert node.arg not in ("width", "colour", "color"), (file.name, node.lineno)


def test_the_check_finds_what_it_is_for() -> None:
    tree = ast.parse("import json\n\ndef f(width):\n    return 'a: b'.partition(': ')[2]\n")
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert attributes & _TAKES_APART
