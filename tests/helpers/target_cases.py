"""A small real group, two instances that join it, and a target file for all of them."""

import gzip
import json
from dataclasses import replace
from functools import cache
from pathlib import Path

from kstream_plan.assignors.planned.target_file import parse_target, target_text
from kstream_plan.model import Consumer, Instance, Snapshot
from kstream_plan.model.scenario import Join, Scenario
from kstream_plan.plans import Plan
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row

FOLDER = Path(__file__).parents[1] / "real" / "planned" / "K1c"
SNAPSHOT_ROW = json.loads(gzip.decompress((FOLDER / "snapshot.json.gz").read_bytes()))
TARGET = (FOLDER / "target.properties").read_bytes()
#: Two instances with an empty disk: client tag and process id.
JOINING = (("i4", "483b2237-cc0f-44f6-bfcd-c2b0fa1e1724"), ("i5", "f4a960d1-088f-4c21-8e6c-ba5748449e40"))


def target(**changes):
    """Return the target file with other values."""
    return target_text(replace(parse_target(TARGET), **changes)).encode()


def fewer_slots():
    """Return the slots of the target file with the last one's tasks on the one before."""
    *slots, last, gone = parse_target(TARGET).slots
    both = replace(
        last,
        active=(*last.active, *gone.active),
        standby=tuple({*last.standby, *gone.standby} - {*last.active, *gone.active}),
    )
    return (*slots, both)


def snapshot() -> Snapshot:
    """Return the group before anybody joins, with a known restore rate."""
    read = snapshot_from_row(SNAPSHOT_ROW, "snapshot")
    return replace(read, rates=replace(read.rates, restore_per_instance=20_000))


def joining(tagged: bool = True) -> Scenario:
    """Return that both instances join now."""
    instances = tuple(
        Instance(
            process_id=process_id,
            consumers=tuple(Consumer(consumer_id=f"{process_id}-StreamThread-{n}") for n in (1, 2)),
            client_tags=(("pod", pod),) if tagged else (),
        )
        for pod, process_id in JOINING
    )
    return Scenario(events=(Join(at_ms=0, instances=instances),))


@cache
def planned(content: bytes | None = TARGET, assignor: str = "planned") -> Plan:
    """Return what follows when both join, by a target file."""
    return plan_checked(snapshot(), scenario=joining(), assignor=assignor, target=content)
