"""Every round of a real group that followed a target file comes out as it was decided, and when."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from kstream_plan.cli.commands.follow import FollowOptions, follow_group
from kstream_plan.live.course import Stage
from kstream_plan.model import Instance
from kstream_plan.model.group import Consumer
from kstream_plan.model.scenario import Join, Scenario
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.helpers.clocks import SetClock

REAL = Path(__file__).parents[2] / "real" / "planned"
_DECIDED = re.compile(r"([0-9a-f-]{36})=\[activeTasks: \(\[(.*?)\]\) standbyTasks: \(\[(.*?)\]\)")


def decided_by_leader(folder):
    """Return what was decided after the file was there: the time, and by process the tasks it runs and holds."""
    lines = gzip.decompress((folder / "leader.log.gz").read_bytes()).decode().splitlines()
    rounds, slots = [], {}
    for line, after in pairwise(lines):
        if "kstream-plan: plan " not in line:
            continue
        slots = dict(re.findall(r"(s\d)=([0-9a-f-]{36})", line))
        held = {
            process_id: (set(filter(None, active.split(", "))), set(filter(None, standby.split(", "))))
            for process_id, active, standby in _DECIDED.findall(after)
        }
        rounds.append((datetime.fromisoformat(line[:24]), held))
    return rounds, slots


def planned(folder, slots):
    """Return the plan of two instances that join, which follow the target file."""
    target = (folder / "target.properties").read_bytes()
    tags = dict(re.findall(r"slot\.(s\d)\.match=tag:pod=(\w+)", target.decode()))
    snapshot = snapshot_from_row(json.loads(gzip.decompress((folder / "snapshot.json.gz").read_bytes())), folder.name)
    there = {instance.process_id for instance in snapshot.state.group.instances}
    joining = tuple(
        Instance(
            process_id=process_id,
            consumers=tuple(
                Consumer(consumer_id=f"{folder.name}-{process_id}-StreamThread-{n}-consumer") for n in (1, 2)
            ),
            client_tags=(("pod", tags[slot]),),
        )
        for slot, process_id in sorted(slots.items())
        if process_id not in there
    )
    return plan_checked(
        replace(snapshot, rates=replace(snapshot.rates, restore_per_instance=20_000)),
        scenario=Scenario(events=(Join(at_ms=0, instances=joining),)),
        assignor="planned",
        target=target,
    )


@pytest.mark.parametrize(("name", "rounds"), [("K0d", 9), ("K1c", 17)])
def test_every_round_is_as_it_was_decided(name, rounds):
    decided, slots = decided_by_leader(REAL / name)
    assert len(decided) == rounds
    plan = planned(REAL / name, slots)
    group = plan.group
    names = [str(task.task_id) for task in group.tasks]
    begun = decided[0][0]
    for rnd, (at, held) in zip(plan.rounds, decided, strict=True):
        for place, instance in enumerate(group.instances):
            roles = [rnd.decided[consumer] for consumer in group.consumers_of[place]]
            active = {names[task] for role in roles for task in role.active}
            copies = {names[task] for role in roles for task in (*role.standby, *role.warmup)}
            assert (active, copies) == held[instance.process_id], (rnd.number, instance.process_id)
        assert abs((at - begun).total_seconds() - rnd.at_ms / 1000) < 1, rnd.number
    assert plan.verdict.kind == "settled"


def _is_after(line: bytes, end: datetime) -> bool:
    """Tell whether a line begins with a time after this one."""
    try:
        return datetime.fromisoformat(line.split(b" ", 1)[0].decode()) > end
    except ValueError:
        return False


@pytest.mark.parametrize(("name", "rounds"), [("K0d", 9), ("K1c", 17)])
def test_follow_goes_along_with_it(name, rounds, tmp_path, capsys):
    decided, slots = decided_by_leader(REAL / name)
    log = tmp_path / "leader.log"
    end = decided[-1][0] + timedelta(seconds=1)  # later it is closed, and its members leave
    lines = gzip.decompress((REAL / name / "leader.log.gz").read_bytes()).splitlines(keepends=True)
    newer = next(place for place, line in enumerate(lines) if _is_after(line, end))
    log.write_bytes(b"".join(lines[:newer]))
    end_ms = int(end.timestamp() * 1000)
    options = FollowOptions(leader_log=[str(log)])
    course = follow_group(options, planned(REAL / name, slots), SetClock(end_ms))
    assert course is not None
    assert course.stage is Stage.AS_PLANNED
    assert capsys.readouterr().out.count(f" of {rounds} came as planned (") == rounds
