"""What makes a page knows no width, no markup and no JSON, and takes no sentence apart."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "kstream_plan" / "render" / "pages"
FILES = sorted(PAGES.glob("*.py"))
_FORBIDDEN = {"rich", "jinja2", "json", "re"}
_DRAWING = ("kstream_plan.render.report", "kstream_plan.render.terminal", "kstream_plan.render.markdown")
_TAKES_APART = {"partition", "rpartition", "removesuffix", "removeprefix", "split", "rsplit", "splitlines", "strip"}
_TAKES_APART |= {"replace"}


def imports_that_draw(source: str) -> Iterator[str]:
    """Yield every module that is imported and draws."""
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        yield from (name for name in names if name.split(".")[0] in _FORBIDDEN or name.startswith(_DRAWING))


def calls_that_take_apart(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and name of every call of a method that takes text apart; ``dataclasses.replace`` is none."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _TAKES_APART:
            yield node.lineno, node.func.attr


def parameters_of_drawing(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and name of every parameter that only drawing has."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.arg) and node.arg in ("width", "colour", "color"):
            yield node.lineno, node.arg


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_it_imports_nothing_that_draws(file: Path) -> None:
    assert list(imports_that_draw(file.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_it_takes_no_sentence_apart_and_knows_no_width(file: Path) -> None:
    source = file.read_text(encoding="utf-8")
    assert list(calls_that_take_apart(source)) == []
    assert list(parameters_of_drawing(source)) == []


def test_the_checks_find_what_they_are_for() -> None:
    source = (
        "import json\nfrom rich.table import Table\nfrom kstream_plan.render.report import sections\n"
        "def f(width, *, colour):\n    'a: b'.partition(': ')[2]\n    return 'a: b'.replace(': b', '')\n"
    )
    assert list(imports_that_draw(source)) == ["json", "rich.table", "kstream_plan.render.report"]
    assert sorted(calls_that_take_apart(source)) == [(5, "partition"), (6, "replace")]
    assert list(parameters_of_drawing(source)) == [(4, "width"), (4, "colour")]


def test_the_checks_let_pass_what_is_plain() -> None:
    source = "from dataclasses import replace\n\ndef f(page, title):\n    return replace(page, title=title)\n"
    assert not [*imports_that_draw(source), *calls_that_take_apart(source), *parameters_of_drawing(source)]
