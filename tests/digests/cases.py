"""20,000 cases of every kind, by number: a snapshot, what happens to the group, and how it is planned.

A case hangs on its number alone. Groups and events are those of the generators in ``tests/helpers``; what these leave
as it is (crashes, static members, state that is lost, options) is varied here. Kinds stand one after the other, so that
a further one at the end leaves every number as it is.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from kstream_plan.documents.plan.end_snapshot import end_snapshot
from kstream_plan.model import Instance, Rates, Snapshot
from kstream_plan.model.scenario import Bounce, Event, Join, Leave, NewInstance, Return, Scenario, Stop
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans import Trigger
from kstream_plan.simulation.one_plan import plan
from kstream_plan.simulation.random_ids import with_random_ids
from kstream_plan.simulation.scale_out import scale_out
from kstream_plan.snapshots.rows.snapshot_row import snapshot_from_row
from tests.benchmarks import random_cases as awkward_cases
from tests.helpers import kafka_cases
from tests.helpers.random_broker_groups import connect_case, streams_case
from tests.helpers.random_groups import random_group
from tests.helpers.random_scenarios import hard_case, random_case, varied_case
from tests.helpers.stateful_groups import stateful_case, with_rates
from tests.helpers.stateless_groups import joined

#: Awkward cases with more tasks are passed over.
MOST_TASKS = 40
_MOST_ROUNDS = 40
#: Of so many cases both ends of what is unknown are found as well, which takes longer than all else.
_WITH_RANGES = 0.1


class Case(NamedTuple):
    """What is planned; ``draws``: how often the scenario is simulated (``None``: it is one plan)."""

    snapshot: Snapshot
    options: PlanOptions = PlanOptions(max_rounds=_MOST_ROUNDS)
    scenario: Scenario | None = None
    draws: int | None = None


Generator: TypeAlias = Callable[[int, random.Random], Case]


class Kind(NamedTuple):
    """Cases of one kind: their number, and what makes one of its number and a source of chance with that seed."""

    name: str
    count: int
    make: Generator


def cases_of(kind: str | None, limit: int | None = None) -> list[int]:
    """Return the numbers of a kind's cases (``None``: of all), of ``limit`` of them at even distances."""
    numbers = NUMBERS if kind is None else NUMBERS_OF[kind]
    return list(numbers)[:: max(1, len(numbers) // limit)] if limit else list(numbers)


def kind_of(number: int) -> Kind:
    """Return the kind of a case."""
    return next(kind for kind in KINDS if number in NUMBERS_OF[kind.name])


def case(number: int) -> Case:
    """Return the case of a number."""
    kind = kind_of(number)
    return kind.make(number, random.Random(f"digest {number}"))


def _varied_options(rng: random.Random, **fixed: object) -> PlanOptions:
    """Return the usual options, or some that decide what is taken for so where nobody knows it."""
    usual = PlanOptions(max_rounds=_MOST_ROUNDS, ranges=rng.random() < _WITH_RANGES)
    options = replace(usual, **fixed)  # type: ignore[arg-type]
    if rng.random() < 0.5:
        return options
    return replace(
        options,
        max_rounds=rng.choice([_MOST_ROUNDS, _MOST_ROUNDS, 5]),
        trigger=rng.choice([None, None, Trigger.JOIN, Trigger.MANUAL]),
        ready=rng.choice(["likely", "likely", "all", "none"]),
        cleaning=rng.choice(["likely", "likely", "early", "late"]),
        next_leader=rng.choice(["longest", "longest", "restarted", "others"]),
        noticed=rng.choice(["likely", "likely", "early", "late", "one-by-one", "reversed"]),
        proofs=rng.choice(["all", "all", "stores", "none"]),
        closes_wait=rng.random() < 0.7,
        bounds=rng.random() < 0.1,
        floor=rng.random() < 0.7,
    )


def _with_details(scenario: Scenario, rng: random.Random) -> Scenario:
    return Scenario(events=tuple(_with_detail(event, rng) for event in scenario.events))


def _with_detail(event: Event, rng: random.Random) -> Event:
    """Return the event, at times a crash, a static member, a bounce of such, or a return with other state."""
    if rng.random() < 0.6:
        return event
    match event:
        case Stop():
            return replace(event, crash=True)
        case Return() if event.keeps_disk:
            state = rng.choice(["kept", "lost", "flushed"])
            flushed = rng.choice([1.0, 1_000.0]) if state == "flushed" else None
            return replace(event, state=state, flushed_per_second=flushed)
        case Bounce() if not event.surge:
            return replace(event, static=True, leaves=False)
        case Join():
            return replace(event, instances=tuple(_unnamed(one, rng) for one in event.instances))
        case _:
            return event


def _unnamed(instance: Instance | NewInstance, rng: random.Random) -> Instance | NewInstance:
    """Return a new instance whose id is drawn; later events name it by its host."""
    if isinstance(instance, NewInstance):
        return instance
    places = {"rack": instance.rack, "client_tags": instance.client_tags}
    return NewInstance(threads=rng.choice([None, 1, 3]), host=instance.host, static=rng.random() < 0.3, **places)


def _happening(snapshot: Snapshot, scenario: Scenario | None, options: PlanOptions) -> Case:
    """Return the case of one plan, in which new ids are those of draw 0."""
    return Case(snapshot, options, with_random_ids(scenario, snapshot.state.group, 0) if scenario else None)


def _events(number: int, rng: random.Random) -> Case:
    snapshot, scenario = random_case(number)
    return _happening(snapshot, _with_details(scenario, rng), _varied_options(rng))


def _standbys(number: int, rng: random.Random) -> Case:
    """Of a group that has settled with fewer standbys."""
    snapshot, scenario = random_case(number)
    snapshot = replace(snapshot, config=replace(snapshot.config, num_standby_replicas=rng.choice([2, 3, 3])))
    return _happening(snapshot, _with_details(scenario, rng), _varied_options(rng))


def _places(number: int, rng: random.Random, **fixed: object) -> Case:
    """With racks and client tags."""
    snapshot, scenario = varied_case(number)
    return _happening(snapshot, _with_details(scenario, rng), _varied_options(rng, **fixed))


def _eager(number: int, rng: random.Random) -> Case:
    return _places(number, rng, protocol="eager")


def _mixed(number: int, rng: random.Random) -> Case:
    return _places(number, rng, protocol="mixed")


def _balanced(number: int, rng: random.Random) -> Case:
    return _places(number, rng, assignor="balanced", protocol=rng.choice(["cooperative", "cooperative", "eager"]))


def _slow(number: int, rng: random.Random) -> Case:
    return _happening(*hard_case(number), _varied_options(rng))


def _awkward(number: int, rng: random.Random) -> Case:
    """Of copies that several threads report, huge offsets, unequal instances and up to five standbys."""
    cases = (awkward_cases.random_case(seed) for seed in range(number * 1_000, (number + 1) * 1_000))
    found = next(case for case in cases if len(case["tasks"]) <= MOST_TASKS)
    snapshot = Snapshot(state=kafka_cases.state_of(found), config=kafka_cases.config_of(found))
    rates = Rates(restore_per_instance=rng.choice([None, 50.0, 1e6]), produce_per_task=rng.choice([None, None, 5.0]))
    return Case(replace(snapshot, rates=rates), _varied_options(rng))


def _migrating(number: int, rng: random.Random) -> Case:
    return _happening(*stateful_case(number), _varied_options(rng))


def _rated(number: int, rng: random.Random) -> Case:
    snapshot, scenario = stateful_case(number)
    return _happening(with_rates(snapshot, number), scenario, _varied_options(rng))


def _stateless(number: int, rng: random.Random) -> Case:
    """Of many stateless tasks that go back and forth."""
    protocol = rng.choice(["cooperative", "cooperative", "eager", "mixed"])
    return Case(joined(number), PlanOptions(max_rounds=20, protocol=protocol, ranges=rng.random() < _WITH_RANGES))


def _reported(_number: int, rng: random.Random) -> Case:
    """Of rows as people have them, some time after they were taken: old reports, stores, a decision that is known."""
    given = random_group(rng)
    scenario = rng.choice([None, _change(given.snapshot, given.busiest, rng)])
    return _happening(given.snapshot, scenario, given.options)


def _change(snapshot: Snapshot, host: str, rng: random.Random) -> Scenario:
    at_ms = rng.choice([0, 0, 5_000, 700_000])
    return rng.choice(
        [
            scale_out(snapshot.state.group, add=rng.randint(1, 2)),
            scale_out(snapshot.state.group, add=1, remove=[host]),
            Scenario(events=(Stop(at_ms=at_ms, process_ids=(host,), crash=rng.random() < 0.5),)),
            Scenario(events=(Leave(at_ms=at_ms, process_ids=(host,)),)),
            Scenario(events=(Bounce(at_ms=at_ms, process_ids=(host,), restart_ms=40_000, leaves=rng.random() < 0.5),)),
            Scenario(events=(Bounce(at_ms=at_ms, process_ids=("all",), restart_ms=20_000, pause_ms=60_000),)),
            Scenario(events=(Bounce(at_ms=at_ms, process_ids=(host,), restart_ms=30_000, surge=1),)),
        ]
    )


def _planned_on(number: int, rng: random.Random) -> Case:
    """From where a plan was cut off, the decision known then; at times that decision is made again."""
    source = _reported if rng.random() < 0.5 else _events
    first = source(number, rng)
    options = replace(first.options.of_one_run(), max_rounds=rng.randint(1, 6))
    result = plan(first.snapshot, options, scenario=first.scenario)
    snapshot = snapshot_from_row(end_snapshot(result), "end")
    return Case(snapshot, _varied_options(rng, replay=rng.random() < 0.5))


def _simulated(number: int, rng: random.Random) -> Case:
    """Of new instances whose ids are drawn several times, with what other settings would do."""
    given = random_group(rng)
    snapshot, host = given.snapshot, given.busiest
    if rng.random() < 0.4:
        snapshot, host = random_case(number)[0], "m1"
    return Case(snapshot, PlanOptions(max_rounds=20), _change(snapshot, host, rng), draws=rng.choice([1, 2, 3]))


def _learner(number: int, rng: random.Random) -> Case:
    snapshot, scenario = varied_case(number)
    announced = tuple(
        replace(event, announced=rng.random() < 0.5) if isinstance(event, Leave) else event for event in scenario.events
    )
    timeout_ms = rng.choice([600_000, 600_000, 30_000])
    options = _varied_options(
        rng, design="learner", max_learners=rng.choice([None, 1, 2]), scale_down_timeout_ms=timeout_ms
    )
    return _happening(snapshot, _with_details(Scenario(events=announced), rng), options)


def _streams(number: int, rng: random.Random) -> Case:
    """Of brokers 4.2, 4.3 and 4.4."""
    snapshot, scenario = streams_case(number)
    rates = Rates(restore_per_instance=rng.choice([None, 50.0, 1_000.0]), produce_per_task=rng.choice([None, 0.0, 5.0]))
    return _happening(replace(snapshot, rates=rates), scenario, _varied_options(rng))


def _connect_by(design: str) -> Generator:
    def make(number: int, rng: random.Random) -> Case:
        snapshot, scenario = connect_case(number)
        options = _varied_options(
            rng,
            design=design,
            connect_delay_ms=rng.choice([None, None, 0, 30_000]),
            connect_defer_join=rng.random() < 0.3,
            connect_step=rng.choice([1, 2, 10]),
            connect_pause_ms=rng.choice([60_000, 5_000]),
        )
        return _happening(snapshot, scenario, options)

    return make


KINDS = (
    Kind("classic-events", 2_000, _events),
    Kind("classic-standbys", 1_000, _standbys),
    Kind("classic-places", 1_500, _places),
    Kind("classic-eager", 1_000, _eager),
    Kind("classic-mixed", 1_000, _mixed),
    Kind("classic-balanced", 1_000, _balanced),
    Kind("classic-slow", 800, _slow),
    Kind("classic-awkward", 1_500, _awkward),
    Kind("classic-migrating", 1_500, _migrating),
    Kind("classic-rated", 1_500, _rated),
    Kind("classic-stateless", 400, _stateless),
    Kind("classic-reported", 1_500, _reported),
    Kind("classic-planned-on", 600, _planned_on),
    Kind("classic-simulated", 600, _simulated),
    Kind("learner", 800, _learner),
    Kind("streams", 1_300, _streams),
    Kind("connect", 400, _connect_by("connect")),
    Kind("connect-eager", 400, _connect_by("connect-eager")),
    Kind("connect-design-1", 400, _connect_by("connect-design-1")),
    Kind("connect-design-2", 400, _connect_by("connect-design-2")),
    Kind("connect-design-3", 400, _connect_by("connect-design-3")),
)


def _numbers(kinds: Sequence[Kind]) -> Iterator[tuple[str, range]]:
    ends = accumulate(kind.count for kind in kinds)
    yield from ((kind.name, range(end - kind.count, end)) for kind, end in zip(kinds, ends, strict=True))


NUMBERS_OF = dict(_numbers(KINDS))
NUMBERS = range(sum(kind.count for kind in KINDS))
