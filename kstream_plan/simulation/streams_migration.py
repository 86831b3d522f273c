"""A classic group that may become a streams group: the switch itself, and what then happens, on either side."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from math import inf
from typing import NamedTuple, TypeAlias

from kstream_plan.designs.classic.design import Classic
from kstream_plan.designs.streams.design import Streams
from kstream_plan.errors import UsageError
from kstream_plan.model import Rates, Snapshot
from kstream_plan.model.scenario import Bounce, Event, Join, NewInstance, Scenario, Stop
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.model.snapshot import Stores
from kstream_plan.planner.digest import input_digest
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans import HandOver, Plan, Promote
from kstream_plan.plans.simulated import Range
from kstream_plan.simulation.bounces import other_sides_ms
from kstream_plan.simulation.draws import usual_number
from kstream_plan.simulation.one_plan import plan_checked
from kstream_plan.simulation.random_ids import with_random_ids
from kstream_plan.simulation.streams_equivalent import check_tasks, running, settled_classic, starting
from kstream_plan.simulation.streams_migration_answer import Side, Switch, SwitchFigures, SwitchRow, What, WithoutEffect

#: Called with how many plans are made, and of how many.
OnPlan: TypeAlias = Callable[[int, int], None]

_STANDBYS = (0, 1, 2)
#: So many draws there are at most: what varies is where tasks go, and hardly how many.
_MOST_DRAWS = 10
_PLANS_OF_A_DRAW = 12
_QUICK = PlanOptions(bounds=False, floor=False, ranges=False)
#: Settings of an application that have no effect in a streams group, with what a classic group has of them.
_WITHOUT_EFFECT = (
    "acceptable_recovery_lag",
    "max_warmup_replicas",
    "num_standby_replicas",
    "probing_rebalance_interval_ms",
    "rack_aware_assignment_tags",
    "rack_aware_assignment_strategy",
    "rack_aware_assignment_traffic_cost",
    "rack_aware_assignment_non_overlap_cost",
    "heartbeat_interval_ms",
    "session_timeout_ms",
)


def with_given(snapshot: Snapshot, restore_rate: float | None, stores: Stores | None) -> Snapshot:
    """Return the snapshot with a restore rate of every instance, and where stores are, as far as they are given.

    The rate is in records per second.
    """
    rate = snapshot.rates.restore_per_instance if restore_rate is None else restore_rate
    store_fields = {} if stores is None else {"stores": stores, "stores_from": "--set stores"}
    return replace(snapshot, rates=replace(snapshot.rates, restore_per_instance=rate), **store_fields)  # type: ignore[arg-type]


def switch(
    snapshot: Snapshot,
    broker_version: str,
    *,
    add: int = 2,
    restart_ms: int = 40_000,
    number_of_draws: int | None = None,
    on_plan: OnPlan = lambda _number, _total: None,
) -> Switch:
    """Simulate the switch of a classic group to a broker's release, and what happens, by either protocol.

    Both sides begin settled, every copy caught up, with 0, 1 and 2 standbys, as far as there are instances for them.

    Raises:
        UsageError: the group is no classic one, has no instances, or tasks that a broker could not deal out.
        PlanInvariantError: a plan contradicts itself, which is a defect of this tool.
    """
    group = snapshot.state.group
    if snapshot.group_protocol != "classic":
        message = f"it is a {snapshot.group_protocol} group"
        raise UsageError(message, where=group.application_id, fix="give a snapshot of a classic group")
    if not group.instances:
        raise UsageError("it has no members", where=group.application_id, fix="give a snapshot of the running group")
    check_tasks(group)
    standbys = [number for number in _STANDBYS if number < len(group.instances)]
    usual = max(1, min(_MOST_DRAWS, usual_number(group, snapshot.config) // _PLANS_OF_A_DRAW))
    draws = number_of_draws or usual
    instance = _busiest(snapshot)
    events: dict[What, Event] = {"join": Join(at_ms=0, instances=tuple(NewInstance() for _ in range(add)))}
    if len(group.instances) > 1:  # else no instance is left to take over
        events["bounce"] = Bounce(at_ms=0, process_ids=(instance,), restart_ms=restart_ms)
        events["crash"] = Stop(at_ms=0, process_ids=(instance,), crash=True)
    away_ms = max(restart_ms, snapshot.config.session_timeout_ms)
    are_stores_unknown = snapshot.stores in (None, "mixed")
    snapshots = [snapshot, *([replace(snapshot, stores="in-memory")] if are_stores_unknown else [])]
    simulations = [_Simulator(variant, broker_version, events, draws).rows(standbys) for variant in snapshots]
    rows = []
    for row_count, (likely, *in_memory) in enumerate(zip(*simulations, strict=True), start=1):
        other_plans = [
            *likely.other_plans,
            *chain.from_iterable((*outcome.plans, *outcome.other_plans) for outcome in in_memory),
        ]
        is_switch = likely.event_name == "switch"
        figures = _figures(likely.plans, other_plans, away_ms if is_switch else 0, stood_still=is_switch)
        rows.append(SwitchRow(likely.event_name, likely.standbys, likely.side, figures))
        on_plan(row_count, len(standbys) * (2 * len(events) + 1))
    order = {event_name: place for place, event_name in enumerate(("switch", *events))}
    return Switch(
        snapshot=snapshot,
        broker_version=broker_version,
        add=add,
        restart_ms=restart_ms,
        away_ms=away_ms,
        instance=instance,
        standbys=snapshot.config.num_standby_replicas,
        static_members=any(consumer.group_instance_id for member in group.instances for consumer in member.consumers),
        without_effect=tuple(_without_effect(snapshot.config)),
        rows=tuple(sorted(rows, key=lambda row: (order[row.what], row.standbys, row.side))),
        draws=draws,
        models=f"{Classic().fitted_to(snapshot).models}; {Streams.models}",
        snapshot_digest=input_digest(snapshot.state, snapshot.config, snapshot.rates),
    )


class _Played(NamedTuple):
    """One event, by its plans, one for each draw; ``other_plans``: its other outcomes."""

    event_name: What
    standbys: int
    side: Side
    plans: Sequence[Plan]
    other_plans: Sequence[Plan] = ()


class _Simulator(NamedTuple):
    """The simulations of one switch; private to it."""

    snapshot: Snapshot
    broker_version: str
    events: dict[What, Event]
    draws: int

    def rows(self, standbys: Sequence[int]) -> Iterator[_Played]:
        """Simulate everything; a restart close to the session time-out on either side of that."""
        for number in standbys:
            starts = [starting(self.snapshot, self.broker_version, number, draw) for draw in range(self.draws)]
            start_plans = [plan_checked(start, _QUICK, scenario=Scenario(events=())) for start in starts]
            yield _Played("switch", number, "streams", start_plans)
            streams = [running(snapshot, plan.final) for snapshot, plan in zip(starts, start_plans, strict=True)]
            classic = [self._settled_classic(number)] * self.draws
            sides: tuple[tuple[Side, Sequence[Snapshot]], ...] = (("classic", classic), ("streams", streams))
            for event_name, event in self.events.items():
                for side, groups in sides:
                    other_plans = [
                        self._simulate(groups, other_event) for other_event in _other_restarts(event, groups[0])
                    ]
                    yield _Played(
                        event_name, number, side, self._simulate(groups, event), list(chain.from_iterable(other_plans))
                    )

    def _settled_classic(self, standbys: int) -> Snapshot:
        config = replace(self.snapshot.config, num_standby_replicas=standbys)
        at_once = replace(self.snapshot, config=config, rates=Rates(restore_per_instance=inf))
        return settled_classic(self.snapshot, plan_checked(at_once, _QUICK).final, standbys)

    def _simulate(self, groups: Sequence[Snapshot], event: Event) -> list[Plan]:
        """Simulate it once for each draw; without new instances a classic group does the same in each."""
        plans, scenario = list[Plan](), Scenario(events=(event,))
        is_same = groups[0].group_protocol == "classic" and not isinstance(event, Join)
        for draw, group in enumerate(groups[:1] if is_same else groups):
            plans.append(plan_checked(group, _QUICK, scenario=with_random_ids(scenario, group.state.group, draw)))
        return plans


def _other_restarts(event: Event, snapshot: Snapshot) -> Iterator[Event]:
    """Yield a restart on either side of the session time-out, where it may come out on either.

    Members of a streams group leave at once, unless they are static.
    """
    instances = snapshot.state.group.instances
    waits = snapshot.group_protocol == "classic" or any(instance.is_static for instance in instances)
    if isinstance(event, Bounce) and waits:
        for restart_ms in other_sides_ms(snapshot.config, event.restart_ms):
            yield replace(event, restart_ms=restart_ms)


def _busiest(snapshot: Snapshot) -> str:
    """Return the process id of the instance that runs most stateful tasks, the first of several."""
    group, holdings = snapshot.state.group, tuple(snapshot.state.holdings)
    counts = [sum(len(holdings[consumer].active) for consumer in consumers) for consumers in group.consumers_of]
    return group.instances[counts.index(max(counts))].process_id


def _figures(
    plans: Sequence[Plan], other_plans: Sequence[Plan] = (), away_ms: int = 0, *, stood_still: bool = False
) -> SwitchFigures:
    """Return the figures of plans, with the ends of those of ``other_plans``, which may happen as well.

    ``stood_still``: nothing has run for ``away_ms`` when they begin.
    """
    all_plans = [*plans, *other_plans]
    number, summaries = len(plans), [plan.summary for plan in all_plans]
    least = [away_ms + summary.duration_ms for summary in summaries]
    pauses_ms = least if stood_still else [plan.figure("max_paused_task_ms") or 0 for plan in all_plans]
    runs = [None if (by_ms := _runs_by_ms(plan)) is None else away_ms + by_ms for plan in all_plans]
    return SwitchFigures(
        draws=number,
        settled_draws=sum(plan.verdict.kind == "settled" for plan in plans),
        may_not_settle=any(plan.verdict.kind != "settled" for plan in other_plans),
        rebalances=_range([summary.rebalances for summary in summaries], number),
        cold_handovers=_range([summary.cold_handovers for summary in summaries], number),
        restored_records=_known_range([summary.restored_records for summary in summaries], number),
        slowest_ms=_known_range([summary.max_cold_restore_ms for summary in summaries], number),
        paused_ms=_range(pauses_ms, number),
        runs_ms=_known_range(runs, number),
        at_least_ms=_range(least, number),
        at_least_is="least" if plans[0].design == "streams" else "likely",
    )


def _runs_by_ms(plan: Plan) -> int | None:
    """Return when every task runs where it stays; of a classic group at the latest, ``None`` if not known."""
    summary = plan.summary
    if plan.verdict.kind != "settled":
        return None
    if plan.design == "streams":
        return summary.runs_by_ms
    if summary.duration_is != "estimate" or (summary.cold_handovers and summary.max_cold_restore_ms is None):
        return None
    cold = [
        rnd.ends_ms
        for rnd in plan.rounds
        if any(isinstance(step, HandOver | Promote) and not step.caught_up for step in rnd.single_steps)
    ]
    return max(summary.duration_ms, max(cold, default=0) + (summary.max_cold_restore_ms or 0))


def _range(values: Sequence[int], draws: int) -> Range:
    """Return the median of the draws, which come first, and the ends of all."""
    return Range(statistics.median_low(values[:draws]), min(values), max(values))


def _known_range(values: Sequence[int | None], draws: int) -> Range | None:
    known_values = [value for value in values if value is not None]
    return _range(known_values, draws) if len(known_values) == len(values) else None


def _without_effect(config: AssignmentConfig) -> Iterator[WithoutEffect]:
    usual = AssignmentConfig()
    for name in _WITHOUT_EFFECT:
        value = getattr(config, name)
        text = ",".join(value) if isinstance(value, tuple) else str(value)
        yield WithoutEffect(name.replace("_", "."), text, value != getattr(usual, name))
