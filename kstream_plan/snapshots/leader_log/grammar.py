"""How Kafka Streams prints tasks, members and what it knows of them: Java's ``toString`` of sets and maps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from kstream_plan.model import UNKNOWN, TaskId
from kstream_plan.model.settings import MAX_LONG


class GrammarError(ValueError):
    """A text is not what Kafka Streams would have printed: it is cut or mixed up."""


@dataclass(frozen=True, slots=True)
class ClientState:
    """One process as ``ClientState.toString`` shows it (the same in Kafka 3.2 to 4.3; before, it had no client tags).

    ``had_active`` and ``had_standby`` are what it had before. ``lags`` are what the leader made of the offset sums that
    the process reported, Kafka's markers included; what it did not report is not in there.
    """

    active: frozenset[TaskId]
    standby: frozenset[TaskId]
    had_active: frozenset[TaskId]
    had_standby: frozenset[TaskId]
    lags: Mapping[TaskId, int]
    tags: Mapping[str, str]
    capacity: int


@dataclass(frozen=True, slots=True)
class Clients:
    """All processes of a group, its stateful tasks, and the sums of their end offsets as far as the lags tell them.

    ``has_tags``: the release that prints it has client tags, as Kafka has since 3.2.
    """

    states: Mapping[str, ClientState]
    stateful: frozenset[TaskId]
    end_offset_sums: Mapping[TaskId, int]
    has_tags: bool = True


_CLIENT = re.compile(
    r"([^\s{},=\[\]]+)=\[activeTasks: \(\[([^\]]*)\]\) standbyTasks: \(\[([^\]]*)\]\) "
    r"prevActiveTasks: \(\[([^\]]*)\]\) prevStandbyTasks: \(\[([^\]]*)\]\) "
    r"changelogOffsetTotalsByTask: \(\[([^\]]*)\]\) taskLagTotals: \(\[([^\]]*)\]\) "
    r"(?:clientTags: \(\[([^\]]*(?:\](?!\))[^\]]*)*)\]\) )?capacity: (\d{1,9}) assigned: (\d{1,9})\](?:, |\Z)"
)
_TASKS_OF = re.compile(r"([^\s{},=\[\]]+)=\[([^\]]*)\](?:, |\Z)")
_SUMS = re.compile(r"(?:[^\s,=]+=-?\d{1,19}(?:, (?=.)|\Z))*", re.ASCII)


def read_clients(text: str) -> Clients:
    """Read ``{process=[…], …}``.

    A lag is the end offset sum less what was reported, so it is the sum itself where nothing was reported. A process
    that reported more than the sum has the whole sum as its lag: with others the smallest result is right. What is
    reported as a marker, of a task that runs or of which nothing is known, is the lag, too.

    Raises:
        GrammarError: it is something else, or its counts contradict its lists.
    """
    states: dict[str, ClientState] = {}
    names: frozenset[str] | None = None  # of the stateful tasks, as texts: there may be a million lags
    sums: dict[str, int] = {}
    reports: list[tuple[str, dict[str, int], dict[str, int]]] = []
    for match in _entries(_CLIENT, _inside_braces(text)):
        process_id, active, standby, had_active, had_standby, offset_text, lag_text, tags, capacity, assigned_count = (
            match.groups()
        )
        offsets, lags = _read_sums(offset_text), _read_sums(lag_text)
        if process_id in states or names not in (None, lags.keys()) or not offsets.keys() <= lags.keys():
            raise GrammarError(f"what it says of {process_id} contradicts the rest")
        names = names or frozenset(lags)
        state = ClientState(
            frozenset(read_tasks(active)),
            frozenset(read_tasks(standby)),
            frozenset(read_tasks(had_active)),
            frozenset(read_tasks(had_standby)),
            {_task(name): lags[name] for name in offsets},
            _read_tags(tags or ""),
            int(capacity),
        )
        if len(state.active) + len(state.standby) != int(assigned_count):
            raise GrammarError(f"what {process_id} is assigned is not as much as it says")
        states[process_id] = state
        reports.append((process_id, offsets, lags))
        for name, lag in lags.items():
            if lag >= 0 and (offset := offsets.get(name, 0)) >= 0 and lag + offset < sums.get(name, MAX_LONG + 1):
                sums[name] = lag + offset
    if not states:
        raise GrammarError("it names no process")
    for process_id, offsets, lags in reports:
        wrong = next((name for name in lags if lags[name] != _lag(offsets.get(name, 0), sums.get(name))), None)
        if wrong is not None:
            raise GrammarError(f"the lag of {wrong} on {process_id} does not follow from its offsets")
    end_offset_sums = {_task(name): total for name, total in sums.items()}
    return Clients(states, frozenset(map(_task, names or ())), end_offset_sums, "clientTags: (" in text)


def _lag(offset: int, end: int | None) -> int:
    """Return what Kafka makes of the sum that was reported and the sum of the end offsets (``computeTaskLags``)."""
    if offset < 0:
        return offset
    if end is None:
        return UNKNOWN  # the end offsets could not be asked for
    return end if offset > end else end - offset


def read_tasks_by_consumer(text: str) -> dict[str, tuple[TaskId, ...]]:
    """Read ``{consumer=[0_1, 0_2], …}``.

    Raises:
        GrammarError: it is something else.
    """
    tasks_by_consumer: dict[str, tuple[TaskId, ...]] = {}
    for match in _entries(_TASKS_OF, _inside_braces(text)):
        if match[1] in tasks_by_consumer:
            raise GrammarError(f"{match[1]} is there twice")
        tasks_by_consumer[match[1]] = read_tasks(match[2])
    return tasks_by_consumer


def read_names(text: str) -> tuple[str, ...]:
    """Read ``a, b`` as it stands between brackets."""
    return tuple(text.split(", ")) if text else ()


def read_tasks(text: str) -> tuple[TaskId, ...]:
    """Read ``0_1, 0_2`` as it stands between brackets, sorted.

    Raises:
        GrammarError: it is something else.
    """
    tasks = sorted(map(_task, read_names(text)), key=lambda task: task.sort_key)
    if len(set(tasks)) != len(tasks):
        raise GrammarError("a task is there twice")
    return tuple(tasks)


@lru_cache(maxsize=1 << 16)
def _task(text: str) -> TaskId:
    try:
        return TaskId.parse(text)
    except ValueError as error:
        raise GrammarError(str(error)) from None


def _inside_braces(text: str) -> str:
    if len(text) < 2 or text[0] != "{" or text[-1] != "}":
        raise GrammarError("braces do not match")
    return text[1:-1]


def _entries(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    """Return the entries that make up the whole of a text."""
    entries, position = [], 0
    while position < len(text):
        match = pattern.match(text, position)
        if match is None:
            raise GrammarError(f"{text[position : position + 30]!r} is not what Kafka Streams prints there")
        entries.append(match)
        position = match.end()
    return entries


def _read_sums(text: str) -> dict[str, int]:
    """Read ``0_1=2000, 0_2=-2`` as it stands between brackets, by the tasks' texts."""
    if not _SUMS.fullmatch(text):
        raise GrammarError(f"{text[:40]!r} is not tasks with numbers")
    entries = read_names(text)
    sums = {name: int(number) for name, _, number in (entry.partition("=") for entry in entries)}
    if len(sums) != len(entries) or (sums and not UNKNOWN <= min(sums.values()) <= max(sums.values()) <= MAX_LONG):
        raise GrammarError("a task is there twice, or its sum of offsets is out of range")
    return sums


def _read_tags(text: str) -> dict[str, str]:
    tags = {}
    for entry in read_names(text):
        name, equals, value = entry.partition("=")
        if not equals:
            raise GrammarError(f"{entry[:30]!r} is no client tag")
        tags[name] = value
    return tags
