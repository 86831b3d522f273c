"""Every case comes to the plan whose digest is recorded; of this the ordinary run tries one in twenty.

``KSTREAM_PLAN_DIGESTS=20000 pytest tests/digests`` tries them all. How to see what differs, and when to record anew:
``python -m tests.digests --help``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import pytest

from tests.digests.cases import KINDS, MOST_TASKS, NUMBERS, NUMBERS_OF, case, cases_of
from tests.digests.digest import LEFT_OUT, TEXTS, digest, digest_of, digested, document, first_difference, leaves, whole
from tests.digests.recorded import FOLDER, differing, read

#: A fixed stride, by which every kind is met as often as it has cases.
TRIED = cases_of(None, int(os.environ.get("KSTREAM_PLAN_DIGESTS", "1000")))
PARTS = 10
#: One of a classic group, of a simulation, of a streams group and of a Connect group.
DIFFERENT = [NUMBERS_OF[name][1] for name in ("classic-places", "classic-simulated", "streams", "connect")]
#: Of each of them about so many values are changed.
CHANGES = 120


@pytest.mark.parametrize("part", range(PARTS))
def test_a_case_comes_to_the_plan_that_was_recorded(part: int) -> None:
    found = differing((number, digest(number)) for number in TRIED[part::PARTS])
    assert found == [], f"python -m tests.digests compare --only {' '.join(map(str, found))}"


def test_every_case_that_is_tried_is_recorded_in_little_room() -> None:
    assert len(NUMBERS) == 20_000
    assert set(TRIED) <= read().keys() <= set(NUMBERS)
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 1_000_000


def test_every_kind_is_tried_in_the_ordinary_run() -> None:
    assert all(set(cases_of(None, 1_000)) & set(NUMBERS_OF[kind.name]) for kind in KINDS)


@pytest.mark.parametrize("number", DIFFERENT)
def test_a_changed_figure_changes_the_digest_and_a_changed_sentence_does_not(number: int) -> None:
    result = whole(case(number))
    before, values = digest_of(digested(result)), list(leaves(result))
    sentences = [(keys, value) for keys, value in values if _is_sentence(keys, value)]
    assert sentences
    for keys, _ in (*sentences, *values[:: max(1, len(values) // CHANGES)]):
        changed = digest_of(digested(_with_another(result, keys)))
        apart = ".".join(map(str, keys)).startswith(LEFT_OUT) or any(keys == item for item, _ in sentences)
        assert (changed == before) == apart, keys


@pytest.mark.parametrize("number", DIFFERENT)
def test_nothing_that_is_digested_is_a_sentence(number: int) -> None:
    texts = [value for _, value in leaves(document(number)) if isinstance(value, str)]
    assert [text for text in texts if text.count(" ") > 1 and not text.startswith("--")] == []  # but options


def test_a_refused_case_is_told_by_the_class_of_its_error() -> None:
    refused = next(number for number in NUMBERS_OF["classic-rated"] if "refused" in document(number))
    assert document(refused) == {"refused": "ScenarioError"}


def test_the_first_difference_is_told_by_its_path() -> None:
    before = {"rounds": [{"at_ms": 0, "steps": []}, {"at_ms": 3_000, "steps": [1]}], "summary": {"moves": 1}}
    assert first_difference(before, before) is None
    after = {"rounds": [{"at_ms": 0, "steps": []}, {"at_ms": 3_000, "steps": []}], "summary": {"moves": 2}}
    assert first_difference(before, after) == (".rounds[1].steps (number)", 1, 0)
    assert first_difference(before, {**before, "summary": {}}) == (".summary.moves", 1, "nothing")


def test_awkward_groups_are_small() -> None:
    numbers = list(NUMBERS_OF["classic-awkward"])[::50]
    assert all(len(case(number).snapshot.state.group.tasks) <= MOST_TASKS for number in numbers)


def _is_sentence(keys: Sequence[str | int], value: object) -> bool:
    return keys[-1] in TEXTS and isinstance(value, str)


def _with_another(whole: Any, keys: Sequence[str | int]) -> Any:
    """Return the document with another value at the end of these keys."""
    changed = json.loads(json.dumps(whole))
    place = changed
    for key in keys[:-1]:
        place = place[key]
    value = place[keys[-1]]
    place[keys[-1]] = f"{value} another" if isinstance(value, str) else 1 if value is None else float(value) + 0.5
    return changed
