"""A log whose newest rebalance is cut gives the one before it, and no answer says YES by that."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from operator import itemgetter
from pathlib import Path

import pytest

from kstream_plan.model import Snapshot
from kstream_plan.model.answer import Answer
from kstream_plan.model.not_modelled import NEWER_UNREAD
from kstream_plan.policy.check import check_plan
from kstream_plan.policy.findings import Standard
from kstream_plan.policy.limits import Policy
from kstream_plan.simulation.bounces import bounce
from kstream_plan.simulation.drain import drain
from kstream_plan.simulation.one_plan import plan
from kstream_plan.snapshots.leader_log.history import read_leader_logs
from kstream_plan.snapshots.rows.fields import parse_time
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers import recorded_events

TEXT = gzip.decompress((Path(__file__).parents[1] / "logs_of_people" / "cp-lineno.log.gz").read_bytes()).decode()
NEWEST = TEXT.rindex("Decided on")
CUTS = {
    "in the decision": TEXT[: NEWEST + 2_000],
    "before the decision": TEXT[: TEXT.rindex("\n", 0, NEWEST) + 1],
    "in the members": TEXT[: TEXT.rindex("participating in this rebalance") + 200],
    "in the last split": TEXT[: TEXT.rindex("assigned standby")],
    "another wording": TEXT[:NEWEST] + "Decided to assign" + TEXT[NEWEST + len("Decided on assignment") :],
}
#: It has no task with state before the newest rebalance.
STATELESS = "cdc45918-1e37-4883-a53b-5912764062f6"
NOW = datetime(2026, 11, 21, 13, 5, tzinfo=UTC)


def snapshot_of(text: str, folder: Path) -> Snapshot:
    """The newest rebalance of a log, as it is planned from."""
    (folder / "a.log").write_text(text, encoding="utf-8")
    snapshot = snapshot_from_row(read_leader_logs([str(folder / "a.log")]).entries[-1].row, "")
    return replace(snapshot, rates=replace(snapshot.rates, restore_per_instance=1e6))  # nothing restores for a second


@pytest.mark.parametrize("cut", CUTS)
def test_no_answer_is_yes_by_the_older_rebalance(cut: str, tmp_path: Path) -> None:
    unread = snapshot_of(CUTS[cut], tmp_path)
    assert NEWER_UNREAD in {note.code for note in plan(unread).warnings}
    for snapshot, answer in ((unread, Answer.UNKNOWN), (replace(unread, warnings=()), Answer.YES)):
        assert drain(snapshot, [STATELESS]).answer is answer
        assert check_plan(plan(snapshot), Standard(Policy(), NOW)).answer is answer
    assert bounce(unread, 20_000, instances=[STATELESS]).answer is Answer.UNKNOWN


def test_a_time_before_the_unread_rebalance_is_not_in_doubt(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(CUTS["in the decision"], encoding="utf-8")
    (*_, newest) = read_leader_logs([str(log)]).entries
    for minute, is_unread in ((1, False), (2, True)):
        until = datetime(2026, 11, 21, 13, minute, tzinfo=UTC)
        row = newest.cut_off(int(until.timestamp() * 1000)).row
        assert ("newer_rebalance" in row, "known_until" in row) == (is_unread, not is_unread)


def test_a_gap_before_the_next_rebalance_is_told_of_the_one_before(tmp_path: Path) -> None:
    """Of a time between the two, ``--as-of``, the older one is not the newest."""
    log, middle = tmp_path / "a.log", TEXT.index("Decided on", TEXT.index("Decided on") + 1)
    log.write_text(TEXT[:middle] + "cut" + TEXT[middle + len("Decided on") :], encoding="utf-8")
    rows = [entry.row for entry in read_leader_logs([str(log)]).entries]
    assert ["newer_rebalance" in row for row in rows] == [True, False]
    assert NEWER_UNREAD in {note.code for note in snapshot_from_row(rows[0], "").warnings}


def test_another_application_that_is_cut_is_no_doubt(tmp_path: Path) -> None:
    """As far as its threads tell whose they are."""
    log, ids = tmp_path / "a.log", ("8772d290", "bf6dc970", "cdc45918", "d4faea3e", "4e008b6e")
    other = CUTS["in the decision"].replace("orders", "billing")
    for process_id in ids:
        other = other.replace(process_id, process_id[::-1])
    log.write_text(TEXT + other, encoding="utf-8")
    newest = {entry.application_id: entry.row for entry in read_leader_logs([str(log)]).entries}
    assert {name: "newer_rebalance" in row for name, row in newest.items()} == {"orders": False, "billing": True}


JOINING = b"joining group"
JOINED = b"Successfully joined group"


def joins(group: str) -> Iterator[tuple[int, int, dict[bytes, int]]]:
    """When members begin to join or have joined, the newest generation that one has, and who joins since when."""
    lines = [line for line in recorded_events.log_lines(group) if JOINING in line or JOINED in line]
    generation, joining = 0, dict[bytes, int]()
    for at_ms, line in sorted(((time_of(line), line) for line in lines), key=itemgetter(0)):
        member = line.split(b"clientId=")[1].split(b",")[0]
        if JOINING in line:
            joining.setdefault(member, at_ms)
        else:
            joining.pop(member, None)
            generation = max(generation, int(line.split(b"generationId=")[1].split(b",")[0]))
        yield at_ms, generation, dict(joining)


def time_of(line: bytes) -> int:
    time = recorded_events.TIME.search(line)
    assert time is not None
    return parse_time(time[0].decode())


@pytest.mark.parametrize("group", ["bounce", "duo3", "fresh"])
def test_a_rebalance_that_members_join_is_newer_than_what_was_decided(group: str) -> None:
    """It takes up to ``max.poll.interval.ms`` until it is decided, 33s in one of these."""
    first_ms = recorded_events.generations(group)[0].at_ms or 0
    seen = set[bool]()
    for (at_ms, generation, joining), (next_ms, *_) in pairwise(joins(group)):
        for now_ms in (at_ms + 1, (at_ms + next_ms + 1) // 2) if next_ms > at_ms > first_ms + 1_000 else ():
            newest = read_leader_logs(["-"], stdin=recorded_events.log_until(group, now_ms)).entries[-1]
            by_then = [entry for entry in recorded_events.generations(group) if (entry.at_ms or 0) < now_ms][-1]
            has_begun = generation > newest.row["generation"] + 1  # by which it decided the next
            has_begun = has_begun or any(since_ms > (newest.at_ms or 0) for since_ms in joining.values())
            assert ("newer_rebalance" in newest.row) is has_begun, now_ms
            if by_then.at_ms == newest.at_ms:
                assert ("newer_rebalance" in by_then.cut_off(now_ms - 1).row) is has_begun, now_ms
            seen.add(has_begun)
    assert seen == {True, False}


def test_a_generation_that_another_leader_decided_is_newer(tmp_path: Path) -> None:
    """The log of an instance that is not the leader any more tells that there is one."""
    log, lines = tmp_path / "i1.log", [line for line in recorded_events.log_lines("bounce") if line[:3] == b"i1|"]
    last = max(number for number, line in enumerate(lines) if JOINED in line)
    log.write_bytes(b"".join(lines[: last + 1]))
    newest = read_leader_logs([str(log)]).entries[-1]
    assert newest.row["generation"] + 1 < int(lines[last].split(b"generationId=")[1].split(b",")[0])
    assert newest.row["newer_rebalance"]["place"].startswith(str(log))
