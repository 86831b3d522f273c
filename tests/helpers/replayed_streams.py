"""Replays recorded targets and heartbeats of streams groups (``vectors/streams-*.jsonl.gz``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kstream_plan.designs.streams.coordinator import Answer, GroupCoordinator, StreamsSettings
from kstream_plan.designs.streams.reconciliation import Owned, ReconciledMember
from kstream_plan.designs.streams.sticky import AssignedMember, MemberTarget, StreamsTasks, assign

#: The releases that were recorded, and whether they go by what members hold.
RELEASES = {"4.3.1": False, "4.4.0": True}

_NOTHING = Owned(frozenset(), frozenset())


def difference(record: Mapping[str, Any], release: str) -> tuple[Any, Any] | None:
    """Return what came out of it and what was recorded where they differ first, ``None`` if they do not."""
    case, expected = record["case"], record["out"][release]
    tasks = tasks_of(case["topology"])
    if record["mode"] == "assign":
        standbys, members = case["config"]["num_standby"], assigned_members(case, tasks)
        replayed = shown_targets(tasks, assign(tasks, members, standbys, by_current=RELEASES[release]))
        recorded = sorted_targets(expected["members"])
        return None if replayed == recorded else (replayed, recorded)
    return _Heartbeats(case, tasks, by_current=RELEASES[release]).difference(expected)


def tasks_of(topology: Sequence[Mapping[str, Any]]) -> StreamsTasks:
    """Return the tasks of a recorded topology."""
    return StreamsTasks.from_subtopologies((item["id"], item["partitions"], item["stateful"]) for item in topology)


def assigned_members(case: Mapping[str, Any], tasks: StreamsTasks) -> list[AssignedMember]:
    """Return the members of a recorded case, in the order in which they are put into the assignor's map."""
    number = {name: number for number, name in enumerate(tasks.names)}
    return [
        AssignedMember(
            member_id=member["id"],
            process_id=member["process"],
            active=frozenset(number[task] for task in member["active"] if task in number),
            standby=frozenset(number[task] for task in member["standby"] if task in number),
            offsets=_offsets(member.get("offsets"), number) or {},
        )
        for member in case["members"]
    ]


def _offsets(offsets: Mapping[str, int] | None, number: Mapping[str, int]) -> dict[int, int] | None:
    return None if offsets is None else {number[task]: at for task, at in offsets.items() if task in number}


class _Heartbeats:
    """Plays the recorded calls, with clients that say what they have when it is not what they said last."""

    def __init__(self, case: Mapping[str, Any], tasks: StreamsTasks, *, by_current: bool) -> None:
        config = case["config"]
        self._operations = case["ops"]
        self._tasks = tasks
        self._number = {name: number for number, name in enumerate(tasks.names)}
        self._by_current = by_current
        self._group = GroupCoordinator(
            tasks,
            StreamsSettings(
                num_standby_replicas=config["num_standby"],
                assignment_interval_ms=config["assignment_interval_ms"],
                initial_rebalance_delay_ms=config["initial_delay_ms"],
                by_current=by_current,
            ),
        )
        self._told: dict[str, Owned] = {}
        self._have: dict[str, Owned] = {}
        self._said: dict[str, Owned | None] = {}

    def difference(self, expected: Mapping[str, Any]) -> tuple[Any, Any] | None:
        for operation, step in zip(self._operations, expected["steps"], strict=True):
            replayed, recorded = self._step(operation), _sorted_step(step)
            if replayed != {name: recorded.get(name) for name in replayed} or recorded.keys() - replayed.keys():
                return {"op": operation, **replayed}, recorded
        order = self._group.table.order()
        return None if order == expected["order"] else (order, expected["order"])

    def _step(self, operation: Mapping[str, Any]) -> dict[str, Any]:
        at_ms, member = operation["t"], operation["m"]
        offsets = _offsets(operation.get("offsets"), self._number) if self._by_current else None
        match operation["op"]:
            case "join":
                answer = self._group.join(at_ms, member, operation["process"], offsets)
                self._said[member], self._have[member], says = None, _NOTHING, True
            case "leave":
                by_timer = self._group.leave(at_ms, member)
                return self._epochs() | (
                    {} if by_timer is None else {"timer_tgt": shown_targets(self._tasks, by_timer)}
                )
            case _:
                if operation.get("ack", True):
                    self._have[member] = self._told[member]
                says = self._have[member] != self._said[member]
                owned = self._have[member] if says else None
                answer = self._group.heartbeat(at_ms, member, owned, offsets)
                self._said[member] = self._have[member]
        if answer.tells:
            self._told[member] = answer.member.holds
        return {"owned": says, "resp": answer.tells, **self._answer(answer), **self._epochs()}

    def _epochs(self) -> dict[str, Any]:
        return {"ge": self._group.group_epoch, "te": self._group.target_epoch}

    def _answer(self, answer: Answer) -> dict[str, Any]:
        shown: dict[str, Any] = {"m": _member(answer.member, self._tasks)}
        if answer.computed is not None:
            shown["tgt"] = shown_targets(self._tasks, answer.computed)
        if answer.by_timer is not None:
            shown["timer_tgt"] = shown_targets(self._tasks, answer.by_timer)
        return shown


def _member(member: ReconciledMember, tasks: StreamsTasks) -> dict[str, Any]:
    shown = {
        "e": member.epoch,
        "pe": member.previous_epoch,
        "s": member.state.value,
        "a": {tasks.names[task]: epoch for task, epoch in member.active.items()},
        "st": _names(member.standby, tasks),
    }
    if member.revoking_active or member.revoking_standby:
        shown |= {"ra": _names(member.revoking_active, tasks), "rs": _names(member.revoking_standby, tasks)}
    return shown


def _names(numbers: frozenset[int], tasks: StreamsTasks) -> list[str]:
    return sorted(tasks.names[task] for task in numbers)


def shown_targets(tasks: StreamsTasks, targets: Mapping[str, MemberTarget]) -> dict[str, Any]:
    """Return targets as they are recorded."""
    return {
        member: {"a": _names(target.active, tasks), "s": _names(target.standby, tasks)}
        for member, target in targets.items()
    }


def sorted_targets(targets: Mapping[str, Any]) -> dict[str, Any]:
    """Return recorded targets, tasks sorted by name."""
    return {member: {"a": sorted(item["a"]), "s": sorted(item["s"])} for member, item in targets.items()}


def _sorted_step(step: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(step)
    if "m" in found:
        found["m"] = {name: sorted(item) if name in ("st", "ra", "rs") else item for name, item in found["m"].items()}
    for name in ("tgt", "timer_tgt"):
        if name in found:
            found[name] = sorted_targets(found[name])
    return found
