"""``help WORD`` explains every word that can stand on a screen."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from kstream_plan.cli.commands.help import answer_text
from kstream_plan.pages.glossary import definition
from tests.helpers.plain_heads import PLAIN

PAGES = Path(__file__).parents[2] / "kstream_plan" / "render" / "pages"
#: Words that stand for one thing everywhere, in sentences too.
WORDS = """
settle, settled, probing rebalance, probe, follow-up rebalance, cut over, warm up, warm-up, pause, paused, cold start,
caught up, restore, simulation, random simulation, minimum, stateless moves, left-over state, at least,
lower bound, at most, about, unassigned, yes, no, warning, note, assumption, next, duration, rebalances,
stateful moves, cold starts, longest pause, state to restore, balance, instance, worker, member, thread, standby,
generation, lag, task, stateful, stateless, moving, stuck, hop, hops, start, starts, keeps up, catching up,
falls behind, likely, typical, noticed, needs, left-over, crash, replaced, in sum, if set up, maybe behind, placed,
dropped, on another thread, no copy where it goes, values of, distinct_tag_values, max_pause_per_task, restart
"""


def labels() -> Iterator[tuple[str, str]]:
    """Yield the labels of facts and the heads of columns that stand in the source of pages."""
    for file in sorted(PAGES.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Fact", "Column"):
                place = 1 if node.func.id == "Fact" else 0
                values = node.args[place : place + 1]
                texts = [value for item in values for value in ast.walk(item) if isinstance(value, ast.Constant)]
                yield from ((file.name, text.value) for text in texts if isinstance(text.value, str))


@pytest.mark.parametrize("word", [word.strip() for word in " ".join(WORDS.split()).split(",")])
def test_a_word_of_the_language_is_explained_first(word: str) -> None:
    assert answer_text(word.split()).startswith(f"**{word}**: ")


def test_every_label_on_a_page_is_explained() -> None:
    heads = set(labels())
    assert len(heads) >= 20
    words = {(file, word) for file, head in heads for word in head.split(" and ")}
    assert {(file, word) for file, word in words if word not in PLAIN and definition(word) is None} == set()


@pytest.mark.parametrize(
    ("word", "meaning"),
    [
        ("pace", "of a target file: how many copies"),
        ("produce rate", "records a second that are written"),
        ("longest single pause", "of a task, until it runs, restores included: the first"),
        ("outcome", "in `fleet`: whether"),
        ("provably", "by what was reported"),
    ],
)
def test_a_word_has_the_meaning_of_its_own(word: str, meaning: str) -> None:
    assert (definition(word) or "").startswith(f"**{word}**: {meaning}")


def test_a_word_in_other_letters_and_what_no_page_explains() -> None:
    assert definition("  Cold   START ") == definition("cold start")
    assert definition("xyzzy") is definition("") is definition("term") is None
