"""Replays what a broker's group coordinator logged of a streams group, line by line."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from kstream_plan.designs.streams.coordinator import GroupCoordinator
from kstream_plan.designs.streams.reconciliation import Owned, ReconciledMember
from kstream_plan.designs.streams.sticky import MemberTarget

_LINE = re.compile(r"(?P<at>\S+) .*GroupMetadataManager - .*?\[GroupId \w+\](?:\[MemberId (?P<of>\S+)\])? (?P<what>.*)")
_PROCESS = re.compile(r"processId='?([0-9a-f-]{36})")
_STATE = re.compile(
    r"Member's new assignment state: epoch=(\d+), previousEpoch=(\d+), state=(\w+), "
    r"assignedTasks=\((.*?)\) and tasksPendingRevocation=\((.*?)\)\.$"
)
_ROLE = re.compile(r"(active|standby|warmup)=\[(.*?)\]")
_GONE = re.compile(r"(?:Member (\S+) left the streams group|Streams member (\S+) fenced from the group)")


class Said(NamedTuple):
    """A member's new assignment state, as the log has it, with the epochs of active tasks."""

    epoch: int
    previous_epoch: int
    state: str
    active: tuple[str, ...]
    standby: tuple[str, ...]
    revoking_active: tuple[str, ...]
    revoking_standby: tuple[str, ...]


class Replayed(NamedTuple):
    """What came out: lines (said, played), and targets by epoch."""

    lines: list[tuple[Said, Said]]
    targets: dict[int, Mapping[str, MemberTarget]]


def replayed(path: Path, broker: GroupCoordinator) -> Replayed:
    """Play the log: who joins, leaves and speaks when is the log's, all else the broker's."""
    lines: list[tuple[Said, Said]] = []
    targets: dict[int, Mapping[str, MemberTarget]] = {}
    processes: dict[str, str] = {}
    for at_ms, item, what in _read(path):
        gone, state = _GONE.search(what), _STATE.search(what)
        if what.startswith("Member updated its member metadata"):
            found = _PROCESS.search(what)
            assert found is not None
            processes[item] = found[1]
        elif what.startswith("Bumped streams group epoch to "):
            if item in broker.members:
                broker.group_epoch = int(what.split()[5])
            else:
                broker.join(at_ms, item, processes[item])
                assert broker.group_epoch == int(what.split()[5])
        elif what.startswith("Computed a new target"):
            _computed(broker, at_ms, epoch=int(what.split()[7]))
            targets[broker.target_epoch] = dict(broker.targets)
        elif gone is not None:
            broker.leave(at_ms, gone[1] or gone[2])
        elif state is not None:
            lines.append((_said(state), _played(broker, at_ms, item, _said(state))))
    return Replayed(lines, targets)


def _computed(broker: GroupCoordinator, at_ms: int, *, epoch: int) -> None:
    if broker.target_epoch < epoch and broker.end_delay(at_ms) is None:
        due_ms = broker.due_at_ms()
        assert due_ms is not None
        assert due_ms <= at_ms
        broker._compute(at_ms)
    assert broker.target_epoch == epoch


def _played(broker: GroupCoordinator, at_ms: int, text: str, said: Said) -> Said:
    """Let a member speak: whether it said what it has is not in the log, so what fits."""
    now = _as_said(broker.members[text], broker)
    if now == said:
        return now
    member = broker.members[text]
    for owned in (None, Owned(frozenset(member.active), member.standby)):
        found = _as_said(broker.after_heartbeat(text, owned), broker)
        if found == said:
            broker.heartbeat(at_ms, text, owned)
            return found
    return _as_said(broker.after_heartbeat(text, None), broker)


def _as_said(member: ReconciledMember, broker: GroupCoordinator) -> Said:
    names = broker.tasks.names
    return Said(
        member.epoch,
        member.previous_epoch,
        member.state.value,
        tuple(sorted(f"{names[task].replace('_', '-')}@{epoch}" for task, epoch in member.active.items())),
        *(
            tuple(sorted(names[task].replace("_", "-") for task in tasks))
            for tasks in (member.standby, member.revoking_active, member.revoking_standby)
        ),
    )


def _said(match: re.Match[str]) -> Said:
    assigned, revoking = _roles(match[4]), _roles(match[5])
    without_epochs = tuple(task.split("@")[0] for task in revoking["active"])
    return Said(
        int(match[1]),
        int(match[2]),
        match[3],
        assigned["active"],
        assigned["standby"],
        without_epochs,
        revoking["standby"],
    )


def _roles(text: str) -> Mapping[str, tuple[str, ...]]:
    return MappingProxyType(
        {role: tuple(sorted(filter(None, tasks.split(", ")))) for role, tasks in _ROLE.findall(text)}
    )


def _read(path: Path) -> Iterator[tuple[int, str, str]]:
    with gzip.open(path, "rt") as lines:
        for line in lines:
            found = _LINE.match(line.rstrip("\n"))
            if found is not None:
                at_ms = round(datetime.fromisoformat(found["at"]).timestamp() * 1000)
                yield at_ms, found["of"] or "", found["what"]
