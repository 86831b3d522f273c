"""A group is known until it is heard of last: what another application logs later does not show that it goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from kstream_plan.snapshots.leader_log.history import read_leader_logs
from tests.helpers import recorded_events

GROUPS = ("duo3", "fresh")
LATER = "2026-11-22T23:00:00.000Z"
OTHER = "billing-1d296588-571c-4eee-96be-fa395e3c536c-StreamThread-1"
#: A line that is later than all others, and whether it tells of the group.
LINES = {
    "another application's thread": (f"{LATER} [{OTHER}] INFO com.example.Bill - paid", False),
    "its own thread": (f"{LATER} [{{thread}}] INFO com.example.Order - packed", True),
    "no stream thread": (f"{LATER} [main] INFO com.example.Order - packed", True),
    "JSON of another application": (f'{{{{"@timestamp": "{LATER}", "thread": "{OTHER}", "message": "paid"}}}}', False),
}


def log_of(group: str) -> bytes:
    """A log up to a minute after its first generation, when no instance has been stopped."""
    first = recorded_events.generations(group)[0].at_ms or 0
    return recorded_events.log_until(group, first + 60_000).getvalue()


def known_until(paths: list[Path]) -> dict[str, str]:
    entries = read_leader_logs([str(path) for path in paths]).entries
    return {entry.application_id: entry.row["known_until"] for entry in entries}


def written(folder: Path, name: str, log: bytes) -> Path:
    path = folder / name
    path.write_bytes(log)
    return path


def test_applications_in_logs_of_their_own_are_each_known_as_alone(tmp_path: Path) -> None:
    paths = [written(tmp_path, f"{group}.log", log_of(group)) for group in GROUPS]
    alone = {group: known_until([path])[group] for group, path in zip(GROUPS, paths, strict=True)}
    assert known_until(paths) == alone
    assert len(set(alone.values())) == len(GROUPS)


def test_applications_in_one_log_are_known_no_longer_than_alone(tmp_path: Path) -> None:
    alone = {group: known_until([written(tmp_path, "alone.log", log_of(group))])[group] for group in GROUPS}
    both = known_until([written(tmp_path, "both.log", b"".join(map(log_of, GROUPS)))])
    assert all(both[group] <= alone[group] for group in GROUPS)


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("is_apart", [False, True])
def test_a_later_line_counts_if_it_tells_of_the_group(line: str, is_apart: bool, tmp_path: Path) -> None:
    log, (text, tells) = log_of("fresh"), LINES[line]
    thread = log.split(b"-StreamThread-1]", 1)[0].rsplit(b"[", 1)[1].decode()
    later = text.format(thread=f"{thread}-StreamThread-1").encode() + b"\n"
    paths = [written(tmp_path, "a.log", log if is_apart else log + later)]
    paths += [written(tmp_path, "b.log", later)] if is_apart else []
    is_known = tells and not (is_apart and line == "no stream thread")
    assert (known_until(paths)["fresh"] == LATER) is is_known
