"""Rows of streams and Connect groups that cannot quite be true: who holds, is to hold, or remembers what, at random."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from functools import cache
from typing import Any

from kstream_plan.designs import OF_GROUP_PROTOCOL
from kstream_plan.documents.plan.read import read_saved
from kstream_plan.documents.plan.write import plan_json
from kstream_plan.errors import PlanFileError, ScenarioError
from kstream_plan.model import Consumer, Instance
from kstream_plan.model.scenario import Event, Join, Leave, Scenario, Stop
from kstream_plan.planner.options import PlanOptions
from kstream_plan.render.answers import to_table as table
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.snapshots.rows.json_text import parse_row
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.fuzz import mutations
from tests.fuzz.oracle import NAME, Broken, Input, named
from tests.helpers import connect_rows, streams_rows

#: A plan that goes on for longer tells nothing more of a row.
_MOST_ROUNDS = 8
_HAPPENS = ("nothing", "nothing", "join", "leave", "crash", "leave and join")
_TIMES = [None, None, "2026-11-22T12:00:00Z", "2026-11-22T11:59:59.800Z", "2026-11-22T11:58:00Z"]
_TIMES += ["2026-11-22T12:03:00Z", "2026-11-20T12:00:00Z"]

Change = Callable[[dict[str, Any], random.Random], None]


def streams(chance: random.Random) -> Input:
    """Return the row of a streams group, and what happens to it."""
    return _given(_streams_seeds(), _OF_STREAMS, chance, ("streams",))


def connect(chance: random.Random) -> Input:
    """Return the row of a Connect group, the design that it is planned by, and what happens to it."""
    return _given(_connect_seeds(), _OF_CONNECT, chance, OF_GROUP_PROTOCOL["connect"])


def run_one(given: Input) -> None:
    """Read a row, plan it, print the plan, save it, and read what was saved.

    Raises:
        Broken: what was saved is refused, or is another plan.
    """
    design, happens = given.arguments
    snapshot = named(lambda one: snapshot_from_row(parse_row(one.content, NAME), NAME))(given)
    processes = [instance.process_id for instance in snapshot.state.group.instances]
    if len(snapshot.state.group.tasks) > 200:  # a number that was mutated: nothing is learned of so many
        return
    events = tuple(_events(happens, processes))
    options = PlanOptions(design=design, max_rounds=_MOST_ROUNDS)
    try:
        result = plan_checked(snapshot, options, scenario=Scenario(events=events) if events else None)
    except ScenarioError:  # nobody is left
        return
    table(result, width=100)
    try:
        [saved] = read_saved(plan_json(result).encode(), NAME)
    except PlanFileError as error:
        raise Broken(f"a saved plan is refused: {error}") from error
    if saved.plan != result:
        raise Broken("a saved plan is another one when it is read")


def _given(
    seeds: list[dict[str, Any]], changes: list[Change], chance: random.Random, designs: tuple[str, ...]
) -> Input:
    row = copy.deepcopy(chance.choice(seeds))
    for _ in range(chance.choice((0, 1, 1, 2, 3, 5, 8))):
        chance.choice(changes)(row, chance)
    if chance.random() < 0.25:
        row = mutations.changed(row, chance)
    return Input(json.dumps(row).encode("utf-8", "surrogatepass"), (chance.choice(designs), chance.choice(_HAPPENS)))


def _events(happens: str, processes: list[str]) -> list[Event]:
    if happens == "nothing":
        return []
    joining = Join(at_ms=7_000, instances=(Instance(process_id="new", consumers=(Consumer(consumer_id="new"),)),))
    gone = processes[:1]
    fields: dict[str, list[Event]] = {
        "join": [joining],
        "leave": [Leave(at_ms=3_000, process_ids=(*gone,))],
        "crash": [Stop(at_ms=3_000, process_ids=(*gone,), crash=True)],
        "leave and join": [Leave(at_ms=3_000, process_ids=(*gone,)), joining],
    }
    return fields[happens]


# --- streams groups ---------------------------------------------------------------------------------------------

_ROLES = ("active", "standby")
_TASKS = [*(f"0_{number}" for number in range(4)), "1_0", "1_1"]


@cache
def _streams_seeds() -> list[dict[str, Any]]:
    topology = {"0": (4, True, 60_000), "1": (2, False, 0)}
    held = {
        ("a", "m-1"): (["0_0", "1_0"], ["0_2"]),
        ("a", "m-2"): (["0_1"], ["0_3"]),
        ("b", "m-3"): (["0_2"], ["0_0"]),
        ("c", "m-4"): (["0_3", "1_1"], ["0_1"]),
    }
    found = []
    for release in ("4.2", "4.3", "4.4"):
        instances: dict[str, list[dict[str, Any]]] = {}
        for place, ((process, member), (active, standby)) in enumerate(held.items()):
            roles = {"active": active, "standby": standby}
            seat = {"consumer_id": member, "position": place, "member_epoch": 12, **roles, "target": dict(roles)}
            instances.setdefault(process, []).append(seat)
        found.append(streams_rows.row(release, instances, topology, standbys=1, target_epoch=12, group_state="Stable"))
    return [json.loads(json.dumps(one)) for one in found]


def _seats(row: dict[str, Any]) -> list[dict[str, Any]]:
    return [seat for instance in row["instances"] for seat in instance["consumers"]]


def _seat(row: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    return chance.choice(_seats(row) or [{}])


def _epochs(row: dict[str, Any], chance: random.Random) -> None:
    """Somebody's epoch, or the group's, is another, or is not told."""
    holder, name = chance.choice(
        [(row, "generation"), (row, "target_epoch"), *[(_seat(row, chance), "member_epoch")] * 3]
    )
    holder[name] = chance.choice((8, 9, 10, 11, 11, 12, 13, 13, 14, 0, -1))
    if name != "generation" and chance.random() < 0.2:
        del holder[name]


def _bumped(row: dict[str, Any], chance: random.Random) -> None:
    """The group is one epoch further, and perhaps the target, and somebody is there."""
    row["generation"] = 13
    row["target_epoch"] = chance.choice((12, 13, 13))
    row["group_state"] = chance.choice(("Reconciling", "Assigning", None))
    for seat in _seats(row):
        if chance.random() < 0.3:
            seat["member_epoch"] = 13


def _states(row: dict[str, Any], chance: random.Random) -> None:
    """Somebody, or the group, is in another state than it would be."""
    if chance.random() < 0.4:
        row["group_state"] = chance.choice(
            ("Stable", "Reconciling", "Assigning", "NotReady", "reconciling", None, "Empty")
        )
    else:
        _seat(row, chance)["member_state"] = chance.choice(("STABLE", "UNREVOKED_TASKS", "UNRELEASED_TASKS", None))


def _one_task(row: dict[str, Any], chance: random.Random) -> None:
    """A task stands in one list more, or less, in whatever role."""
    roles = _roles(_seat(row, chance), chance)
    role, task = chance.choice(_ROLES), chance.choice(_TASKS)
    there = roles.get(role) or []
    roles[role] = [one for one in there if one != task] if task in there else [*there, task]


def _swapped(row: dict[str, Any], chance: random.Random) -> None:
    """Two members have, or are to have, what the other one had."""
    one, other = _seat(row, chance), _seat(row, chance)
    role = chance.choice(_ROLES)
    name = chance.choice(("target", "target", "held"))
    item, to = ((seat if name == "held" else seat.get("target") or {}) for seat in (one, other))
    item[role], to[role] = to.get(role, []), item.get(role, [])


def _handed(row: dict[str, Any], chance: random.Random) -> None:
    """A task is to go from one member to another; its owner may have been told already."""
    one, other = _seat(row, chance), _seat(row, chance)
    role = chance.choice(_ROLES)
    tasks = (one.get("target") or {}).get(role) or []
    if not tasks or one is other or not other.get("target"):
        return
    task = chance.choice(tasks)
    one["target"][role] = [item for item in tasks if item != task]
    other["target"][role] = [*(other["target"].get(role) or []), task]
    row["group_state"], row["generation"], row["target_epoch"] = "Reconciling", 13, 13
    if chance.random() < 0.6:
        one[role] = [item for item in one.get(role) or [] if item != task]
        if chance.random() < 0.7:
            one["revoking"] = {role: [task]}
            one["member_state"] = "UNREVOKED_TASKS"


def _roles(seat: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    name = chance.choice(("held", "held", "target", "target", "revoking"))
    if name == "held":
        return seat
    if not isinstance(seat.get(name), dict):
        seat[name] = {}
    return seat[name]  # type: ignore[no-any-return]


def _no_target(row: dict[str, Any], chance: random.Random) -> None:
    seat = _seat(row, chance)
    for one in chance.choice(([seat], _seats(row))):
        one.pop("target", None)


def _member_gone(row: dict[str, Any], chance: random.Random) -> None:
    instance = chance.choice(row["instances"] or [{"consumers": []}])
    if instance["consumers"]:
        instance["consumers"].pop(chance.randrange(len(instance["consumers"])))
    if not instance["consumers"] and instance in row["instances"]:
        row["instances"].remove(instance)
    _renumbered(row, chance)


def _member_more(row: dict[str, Any], chance: random.Random) -> None:
    """A member that is like another one, or has nothing yet."""
    seat = {**copy.deepcopy(_seat(row, chance)), "consumer_id": f"m-{chance.randrange(5, 99)}"}
    if chance.random() < 0.7:
        seat |= {"active": [], "standby": [], "target": {}}
    if row["instances"] and chance.random() < 0.5:
        chance.choice(row["instances"])["consumers"].append(seat)
    else:
        row["instances"].append({"process_id": f"p-{chance.randrange(5)}", "consumers": [seat]})
    _renumbered(row, chance)


def _renumbered(row: dict[str, Any], chance: random.Random) -> None:
    places = list(range(len(_seats(row))))
    chance.shuffle(places)
    known = chance.random() < 0.8
    for seat, place in zip(_seats(row), places, strict=True):
        seat.pop("position", None)
        if known:
            seat["position"] = place


def _target_age(row: dict[str, Any], chance: random.Random) -> None:
    row["target_at"] = chance.choice(_TIMES)


def _static(row: dict[str, Any], chance: random.Random) -> None:
    _seat(row, chance)["group_instance_id"] = chance.choice(("s-1", "s-2"))


def _offsets(row: dict[str, Any], chance: random.Random) -> None:
    offset = chance.choice((0, 10, 59_999, 60_000, 10**9, 2**63 - 1))
    seat = _seat(row, chance)
    seat["task_offsets"] = [*seat.get("task_offsets", []), {"task_id": chance.choice(_TASKS), "offset": offset}]


def _lags(row: dict[str, Any], chance: random.Random) -> None:
    process = chance.choice(row["instances"] or [{"process_id": "a"}])["process_id"]
    lag = {"process_id": process, "task_id": chance.choice(_TASKS), "lag": chance.choice((0, 5, 60_000, 10**12))}
    row["lags"] = [*row.get("lags", []), lag]


def _settings(row: dict[str, Any], chance: random.Random) -> None:
    names = ("streams_num_standby_replicas", "streams_assignment_interval_ms", "max_poll_interval_ms")
    row["config"][chance.choice(names)] = chance.choice((0, 1, 2, 100, 15_000, 2**31 - 1))


def _tasks(row: dict[str, Any], chance: random.Random) -> None:
    """Other tasks: one less, one more, with or without state, or with so many records."""
    task = chance.choice(row["tasks"])
    what = chance.choice(("less", "more", "state", "records"))
    if what == "less":
        row["tasks"].remove(task)
    elif what == "more":
        row["tasks"].append(
            {"task_id": chance.choice(("0_4", "1_2", "2_0", "10_0")), "stateful": chance.random() < 0.5}
        )
    elif what == "state":
        for one in row["tasks"]:
            if one["task_id"][0] == task["task_id"][0]:
                one["stateful"] = not one["stateful"]
    else:
        task["end_offset_sum"] = chance.choice((0, 1, None, 2**63 - 1))


_OF_STREAMS: list[Change] = [
    *[_epochs, _epochs, _bumped, _bumped, _states, _states, _one_task, _one_task, _one_task, _swapped],
    *[_handed, _handed, _handed, _no_target, _member_gone, _member_more, _renumbered, _target_age, _target_age],
    *[_static, _offsets, _lags, _settings, _tasks],
]

# --- Connect groups ---------------------------------------------------------------------------------------------

_CONNECTORS = ("c0", "c1", "c2")


@cache
def _connect_seeds() -> list[dict[str, Any]]:
    found = [
        connect_rows.even(workers, config={"connect_protocol": item}) for workers in (1, 2, 3) for item in _PROTOCOLS
    ]
    return [json.loads(json.dumps(one)) for one in found]


_PROTOCOLS = ("sessioned", "compatible", "eager")


def _worker(row: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    return chance.choice(row["instances"] or [{}])  # type: ignore[no-any-return]


def _items(chance: random.Random) -> list[dict[str, Any]]:
    numbers = chance.sample(range(-1, 5), chance.randint(0, 4))
    return [{"connector": item, "items": numbers} for item in chance.sample(_CONNECTORS, chance.randint(0, 2))]


def _held(row: dict[str, Any], chance: random.Random) -> None:
    """A worker holds something more, or less, or twice, or what another one holds."""
    held = _worker(row, chance).setdefault("held", [])
    if not held or chance.random() < 0.3:
        held += _items(chance)
        return
    items = chance.choice(held)["items"]
    if items and chance.random() < 0.6:
        items.pop(chance.randrange(len(items)))
    else:
        items.append(chance.randrange(-1, 5))


def _memory(row: dict[str, Any], chance: random.Random) -> None:
    """A worker remembers something."""
    memory = _worker(row, chance).setdefault("memory", {})
    names = [worker["process_id"] for worker in row["instances"]] + ["gone"]
    values: dict[str, Callable[[], Any]] = {
        "previous": lambda: _items(chance),
        "revocation": lambda: _items(chance),
        "revoked_in_previous": lambda: chance.random() < 0.5,
        "candidates": lambda: [chance.choice(names) for _ in range(chance.randint(0, 2))],
        "scheduled_at": lambda: chance.choice(_TIMES),
        "delay_ms": lambda: chance.choice((0, 1, 60_000, 300_000, 2**31 - 1, -5)),
        "generation": lambda: chance.choice((-1, 0, 11, 12, 13)),
        "members": lambda: [chance.choice(names) for _ in range(chance.randint(0, 4))],
        "successive": lambda: chance.choice((0, 1, 2, 5, 100)),
    }
    for name in chance.sample(list(values), chance.randint(1, 6)):
        memory[name] = values[name]()


def _worker_gone(row: dict[str, Any], chance: random.Random) -> None:
    if row["instances"]:
        row["instances"].pop(chance.randrange(len(row["instances"])))


def _worker_more(row: dict[str, Any], chance: random.Random) -> None:
    more = {"process_id": f"w{chance.randrange(3, 9)}", "java": 17, "held": []}
    row["instances"].insert(chance.randint(0, len(row["instances"])), more)


def _of_worker(row: dict[str, Any], chance: random.Random) -> None:
    name, values = chance.choice(
        [
            ("leader", (True, False, None)),
            ("java", (8, 17, 19, 25)),
            ("last_completed", (-1, 0, 11, 12, 13)),
            ("config_offset", (-1, 3, None)),
            ("host", ("h:1", "h:2")),
        ]
    )
    for worker in chance.choice(([_worker(row, chance)], row["instances"])):
        worker[name] = chance.choice(values) if name == "leader" else values[0]


def _connectors(row: dict[str, Any], chance: random.Random) -> None:
    """Another number of tasks, one connector less or more, or one that has failed."""
    one = chance.choice(row["connectors"] or [{"name": "c0", "task_count": 1}])
    what = chance.choice(("count", "less", "more", "states"))
    if what == "count":
        one["task_count"] = chance.choice((0, 1, 3, 5, 9))
    elif what == "less" and row["connectors"]:
        row["connectors"].remove(one)
    elif what == "more":
        row["connectors"].append({"name": chance.choice(("c2", "c-1", "c", "c0 (connector)")), "task_count": 2})
    else:
        one["states"] = [{"item": chance.randrange(-1, 5), "state": chance.choice(("FAILED", "PAUSED", "UNASSIGNED"))}]


def _of_group(row: dict[str, Any], chance: random.Random) -> None:
    row["generation"] = chance.choice((0, 1, 11, 12, 13))
    row["exact"] = chance.choice((True, True, False))
    name = chance.choice(("scheduled_rebalance_max_delay_ms", "rebalance_timeout_ms", "session_timeout_ms"))
    row["config"][name] = chance.choice((0, 1, 10, 60_000, 2**31 - 1))
    row["config"]["connect_protocol"] = chance.choice(_PROTOCOLS)


_OF_CONNECT: list[Change] = [
    *[_held, _held, _held, _memory, _memory, _memory, _worker_gone, _worker_more, _of_worker, _connectors, _of_group],
]
