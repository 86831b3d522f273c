"""Ways to restart the instances of a group: each with the least pause that is safe, found by simulation."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Literal, TypeAlias

from kstream_plan.comparison.alternatives import AlternativeFigures, alternative_figures
from kstream_plan.errors import ScenarioError
from kstream_plan.model import Group, Note, Snapshot, WorkId
from kstream_plan.model.answer import Answer
from kstream_plan.model.not_modelled import LEAVES_ON_CLOSE, NEWER_UNREAD
from kstream_plan.model.scenario import ALL, Bounce, Event, Leave, Return, Scenario, Stop
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.model.times import duration
from kstream_plan.planner.options import PlanOptions
from kstream_plan.planner.ranges import other_outcomes
from kstream_plan.plans import Plan
from kstream_plan.plans.caught_up_evidence import Fact, Known, UnprovenStart
from kstream_plan.plans.longest_pause import LongestPause, longest_pause
from kstream_plan.plans.simulated import Draws, Range
from kstream_plan.simulation.asked_moment import OVERDUE, asked_moment
from kstream_plan.simulation.drain import restoring_first, settled_after_ms
from kstream_plan.simulation.draws import usual_number
from kstream_plan.simulation.instance_names import process_id_of
from kstream_plan.simulation.one_plan import plan, request_of
from kstream_plan.simulation.overlapping_restarts import standing_still
from kstream_plan.simulation.processes import in_processes
from kstream_plan.simulation.random_ids import is_random, with_random_ids
from kstream_plan.simulation.safe_pause import DRAWS, FoundPause, SafePause, most_cold
from kstream_plan.simulation.simulate import simulate

_LABELS = {
    "default-close": "default close",
    "leave": "leave on close",
    "static": "static members",
    "surge": "surge of one",
}
#: Ways in which an instance comes back as itself.
_ALONE_WAYS = ("default-close", "leave", "static")
#: A pause is found to this many milliseconds.
_TO_MS = 1_000
#: Fewer tasks times instances than these are simulated sooner than other processes are started.
_ALONE = 2_000
#: A surge that takes more probes is days of work, for the group and for its simulation.
_MOST_PROBES = 50
#: By these facts no report bounds the lag of a copy.
_UNBOUNDED = (Fact.NOT_REPORTED, Fact.NOT_MEASURED, Fact.LEAST_LAG)
#: Kafka's ``group.max.session.timeout.ms``, unless a broker has another one.
_LONGEST_TIME_OUT_MS = 1_800_000
Safety: TypeAlias = Literal["yes", "likely", "unknown", "no"]
#: ways done, ways in all
OnWay: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way to restart instances, but for the pause.

    ``name`` is ``default-close``, ``leave``, ``static``, ``surge``, or, where all instances of a zone are restarted at
    once, ``zone`` or ``zone-leave``. ``settings`` (of ``AssignmentConfig``) have to be there before. ``zones`` are the
    process ids of each, by the value of the ``tag`` that makes them zones.
    """

    name: str
    settings: tuple[tuple[str, int], ...] = ()
    tag: str | None = None
    zones: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def label(self) -> str:
        """The way in words: ``default close``, ``by zone, leave on close``."""
        name = _LABELS.get(self.name, f"by {self.tag}{', leave on close' * (self.name == 'zone-leave')}")
        return name + "".join(f", time-out {duration(value)}" for _, value in self.settings)

    def scenario(self, restart_ms: int, pause_ms: int, process_ids: Sequence[str] = (ALL,)) -> Scenario:
        """Return the restarts of these instances, in this order; of zones, all of them."""
        if self.zones:
            return self._zone_by_zone(restart_ms, pause_ms)
        bounce = Bounce(
            at_ms=0,
            process_ids=tuple(process_ids),
            restart_ms=restart_ms,
            pause_ms=pause_ms,
            leaves=self.name == "leave",
            static=self.name == "static",
            surge=int(self.name == "surge"),
        )
        return Scenario(events=(bounce,))

    def _zone_by_zone(self, restart_ms: int, pause_ms: int) -> Scenario:
        end = Leave if self.name == "zone-leave" else Stop
        events: list[Event] = []
        for place, process_ids in enumerate(self.zones.values()):
            at_ms = place * (restart_ms + pause_ms)
            events.append(end(at_ms=at_ms, process_ids=process_ids))
            events.append(Return(at_ms=at_ms + restart_ms, process_ids=process_ids))
        return Scenario(events=tuple(events))


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedWay:
    """One way, simulated on a group.

    ``safe_pause`` is safe if two instances' tasks never stand still at once, none starts cold, and the
    group settles, in every draw and whether or not copies have caught up if that is unknown. ``unproven`` are
    the starts that count as warm in it, and nothing proves that they are; ``takes_proof``: with such it is not safe;
    else with those of copies whose lag no report bounds: an old report may hold again by then.
    The first ``restarts`` were simulated, all of them if it is safe. ``still_at_once``: how many tasks of several
    instances pause at once, beyond a hand-over, over the draws. ``ends_ms``: all instances are back, and every task
    has its final owner. ``most_cold`` tasks start cold at worst. ``scenario`` can be simulated again.
    ``needs_static``: members that are restarted have to be made static first.
    """

    way: Way
    safe_pause: FoundPause
    restarts: int
    scenario: Scenario
    plan: Plan
    draws: Draws | None
    figures: AlternativeFigures
    most_cold: int
    still_at_once: Range
    ends_ms: int
    unproven: tuple[UnprovenStart, ...] = ()
    takes_proof: bool = False
    needs_static: bool = False

    @property
    def safe(self) -> bool:
        """Whether the pause is safe for all restarts; if it takes that, proven to be."""
        return self.is_likely_safe and not self.doubtful_starts

    @property
    def is_likely_safe(self) -> bool:
        """Whether the pause is safe for all restarts if what is not proven to be warm is, unless it is proven cold."""
        return self.safe_pause.outcome == "safe" and not self.proven_cold and not self.plan.restores_first

    @property
    def doubtful_starts(self) -> tuple[UnprovenStart, ...]:
        """The starts that count as warm in the plan and take a proof, which is missing."""
        return _doubtful_starts(self.unproven, self.takes_proof)

    @property
    def uncounted(self) -> int:
        """How many starts count as warm because stores are assumed to be persistent, and are in no figure."""
        facts = [start.evidence.fact for start in set(self.unproven).difference(self.doubtful_starts, self.proven_cold)]
        return facts.count(Fact.STORES_UNKNOWN)

    @property
    def likely_warm(self) -> int:
        """How many starts count as warm that nothing proves to be, and are not in ``most_cold`` either."""
        return len(set(self.unproven).difference(self.doubtful_starts, self.proven_cold)) - self.uncounted

    @property
    def worst_cold(self) -> int:
        """How many starts may be cold, those included that are likely to be warm."""
        return max(self.most_cold, self.figures.cold_handovers.most) + self.likely_warm

    @property
    def proven_cold(self) -> tuple[UnprovenStart, ...]:
        """The starts that are proven to be cold, though they count as warm in the plan."""
        return tuple(start for start in self.unproven if start.evidence.known is Known.BEHIND)

    @property
    def is_prepared(self) -> bool:
        """Whether something has to be set up first: static members, or settings."""
        return self.needs_static or bool(self.way.settings)

    @property
    def is_likely_unsafe(self) -> bool:
        """Whether it is not safe as it is likely to go, whatever else may be."""
        restoring = self.proven_cold or self.plan.restores_first
        cold = self.plan.summary.cold_handovers or self.figures.cold_handovers.median or restoring
        return bool(cold or self.still_at_once.median or not self.settles)

    @property
    def longest_pause(self) -> LongestPause:
        """The longest pause of a task, which has no known end where more may start cold than the plan counts."""
        pause, known_cold = longest_pause(self.plan, self.draws), self.plan.ends("cold_handovers")[1]
        is_counted = self.worst_cold <= max(self.figures.cold_handovers.most, known_cold)
        return pause if is_counted else pause._replace(most_ms=None)

    @property
    def pause_ms(self) -> int:
        """The simulated pause: the least safe one, or one that was tried."""
        return self.safe_pause.pause_ms

    @property
    def lasts_ms(self) -> Range:
        """How long it takes until all instances are back and every task has its final owner, with its bounds."""
        back_ms = max((outage.to_ms for outage in self.plan.outages), default=0)
        likely_ms, least_ms, _ = self.figures.balanced_ms
        return Range(max(likely_ms, back_ms), max(least_ms, back_ms), self.ends_ms)

    @property
    def settles(self) -> bool:
        """Whether every draw settles."""
        return self.figures.settled == (1 if self.draws is None else self.draws.number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounces:
    """The simulated ways to restart a group, and why others were not simulated.

    ``process_ids``: those that are restarted, now and as they are; none: all. ``left_out``: ways with which
    everything has to be restored anew, a few copies at a time, and the least that this takes, in milliseconds, where
    that is too long to be worth playing. ``time`` is the moment that is asked of, RFC 3339 (``None``: not known),
    ``doubts`` why what is known of the group may be over by then. ``settles_in_ms``: how long it takes from then until
    the group has settled, without a restart (``None``: it has, or may never). ``saved_in``: the file that the scenario
    of the best way was written to.
    """

    restart_ms: int
    ways: tuple[SimulatedWay, ...]
    left_out: tuple[tuple[Way, int], ...]
    process_ids: tuple[str, ...] = ()
    time: str | None = None
    doubts: tuple[Note, ...] = ()
    settles_in_ms: int | None = None
    saved_in: str | None = None

    @property
    def first(self) -> Plan:
        """The plan of the first way."""
        return self.ways[0].plan

    @property
    def restarted(self) -> int:
        """How many instances are restarted: none joins in the first way."""
        return len(self.process_ids) or len(self.first.initial_balance.active)

    @property
    def are_static(self) -> bool:
        """Whether all instances that are restarted are static members."""
        group = self.first.group
        return _are_static(group, self.process_ids or [instance.process_id for instance in group.instances])

    @property
    def goes_on(self) -> bool:
        """Whether the group has not settled before anything restarts."""
        return any(note.code == "goes-on" for note in self.first.assumptions)

    def safety_of(self, way: SimulatedWay) -> Safety:
        """Return whether a way is safe; ``likely``: if starts are warm that nothing proves to be."""
        if self.doubts or not (way.safe or way.is_likely_unsafe):
            return "unknown"
        if not way.safe:
            return "no"
        return "likely" if way.unproven else "yes"

    @property
    def leaves_on_close(self) -> bool:
        """Whether the settings have instances leave the group when they close."""
        return any(doubt.code == LEAVES_ON_CLOSE for doubt in self.doubts)

    @property
    def are_stores_unknown(self) -> bool:
        """Whether any way assumes that stores are persistent."""
        return any(start.evidence.fact is Fact.STORES_UNKNOWN for way in self.ways for start in way.unproven)

    @property
    def as_it_is(self) -> SimulatedWay:
        """The restart of instances as they are: by default close."""
        return next(way for way in self.ways if way.way.name == "default-close")

    @property
    def margin_ms(self) -> tuple[int, int] | None:
        """How long a restart ends before the session time-out, at least and at most; ``None``: none keeps its members.

        The time-out is from the last heartbeat, which may be an interval old when an instance stops.
        """
        if self.leaves_on_close:
            return None
        way, config = self.best_safe or self.as_it_is, self.first.config
        left_ms = dict(way.way.settings).get("session_timeout_ms", config.session_timeout_ms) - self.restart_ms
        if way.way.name not in ("default-close", "static") or left_ms <= 0:
            return None
        return max(left_ms - config.heartbeat_interval_ms, 0), left_ms

    @property
    def back_within_ms(self) -> int | None:
        """How long after its stop an instance has to be back at the latest to keep its tasks; ``None``: none does."""
        return None if self.margin_ms is None else self.restart_ms + self.margin_ms[0]

    @property
    def answer(self) -> Answer | None:
        """Whether those that are named may restart now, as they are; ``None``: none is named."""
        if not self.process_ids:
            return None
        if any(doubt.code in (NEWER_UNREAD, OVERDUE) for doubt in self.doubts):
            return Answer.UNKNOWN
        if self.as_it_is.is_likely_unsafe:
            return Answer.NO
        return Answer.YES if self.as_it_is.safe and not self.doubts else Answer.UNKNOWN

    @property
    def reasons(self) -> tuple[Note, ...]:
        """Why it is not known that those that are named may restart: what may be over, or behind, or come otherwise."""
        if not self.process_ids:
            return self.doubts
        reason = self.as_it_is.safe_pause.reason if self.answer is Answer.UNKNOWN else None
        return (*self.doubts, *_unproven(self.as_it_is.unproven), *([] if reason is None else [reason]))

    @property
    def scenario_command(self) -> str:
        """What saves the scenario of the best way, or simulates it once it is saved."""
        if self.saved_in is None or (self.best_safe and self.best_safe.way.settings):
            return "kstream-plan bounce SNAPSHOT --out restart.yaml"
        return f"kstream-plan simulate SNAPSHOT {shlex.quote(self.saved_in)}"

    @property
    def wait_parts(self) -> str:
        """What ``settles_in_ms`` is made of, in words."""
        interval_ms = self.first.config.probing_rebalance_interval_ms
        settled_ms = max((self.settles_in_ms or 0) - interval_ms, 0)
        quiet_time = f"{duration(interval_ms)} in which no probe moves any more"
        return f"{duration(settled_ms)} until it has settled, and {quiet_time}" if settled_ms else quiet_time

    @property
    def beside_simulate(self) -> tuple[str, ...]:
        """In what the figures of the scenarios differ if they are given to ``simulate``."""
        texts = []
        if self.goes_on and self.process_ids:
            texts.append("a default close begins when the rebalance under way has ended")
        if any(way.plan.outages for way in self.ways):
            texts.append("static members' time ends with the last rebalance")
        if any(way.draws is not None for way in self.ways):
            texts.append("more random simulations are run")
        if uncounted := [f"{way.way.label}: {way.uncounted:,}" for way in self.ways if way.uncounted]:
            text = "the most cold starts include those from stores that may be in memory"
            texts.append(f"{text} ({', '.join(uncounted)})")
        return tuple(texts)

    @property
    def best_safe(self) -> SimulatedWay | None:
        """The best safe way: without setup, then proven, then with fewest possible cold starts, then the fastest.

        ``None``: none is safe. To restart some now only what needs nothing counts, and that they close as by default
        comes before all.
        """
        if self.doubts:
            return None
        safe = [way for way in self.ways if way.safe and not (self.process_ids and way.is_prepared)]

        def order(way: SimulatedWay) -> tuple[bool, bool, bool, int, int, int]:
            is_other_way = bool(self.process_ids) and way is not self.as_it_is
            safety = (bool(way.unproven), way.worst_cold)
            return way.is_prepared, is_other_way, *safety, way.ends_ms, self.ways.index(way)

        return min(safe, key=order, default=None)

    @property
    def better_ways(self) -> tuple[SimulatedWay, ...]:
        """The other safe ways that are faster than the best one, or proven to be safe where it is not."""
        best = self.best_safe
        if best is None:
            return ()
        return tuple(
            way
            for way in self.ways
            if way.safe and (way.ends_ms < best.ends_ms or (best.unproven and not way.unproven))
        )


def _are_static(group: Group, process_ids: Sequence[str]) -> bool:
    return all(group.instances[group.instance_index[process_id]].is_static for process_id in process_ids)


def _doubtful_starts(starts: Iterable[UnprovenStart], takes_proof: bool) -> tuple[UnprovenStart, ...]:
    return tuple(start for start in starts if takes_proof or start.evidence.fact in _UNBOUNDED)


def _unproven(starts: Sequence[UnprovenStart]) -> Iterator[Note]:
    """Yield what is known of copies that tasks start from, one note for those with the same evidence."""
    tasks_by_evidence: dict[tuple[str, str], list[str]] = {}
    for start in starts:
        tasks_by_evidence.setdefault((start.evidence.fact.value, start.evidence.words), []).append(str(start.task_id))
    for (code, words), task_ids in tasks_by_evidence.items():
        yield Note(code, f"{words[0].upper()}{words[1:]}", tuple(task_ids))


def bounce(
    snapshot: Snapshot,
    restart_ms: int,
    options: PlanOptions = PlanOptions(),
    *,
    instances: Sequence[str] = (),
    workers: int = 1,
    on_way: OnWay = lambda _number, _total: None,
) -> Bounces:
    """Simulate every way to restart all instances of a group, each down for ``restart_ms``, with its least safe pause.

    A new instance of a surge has been up for ``restart_ms`` when the one that it stands in for stops. Of zones there
    are ways if a client tag, or else the racks, make several of the instances. ``instances``, by process id, its
    beginning or host: only these, in this order, which come back as themselves.

    Raises:
        ScenarioError: there is one instance only; a name of ``instances`` stands for none, for several, or for one
            that is named already.
        PlanInvariantError: a plan contradicts itself, which is a defect of this tool.
    """
    group = snapshot.state.group
    if len(group.instances) == 1:
        message = "there is one instance only, so its tasks cannot move, and pause until it is back"
        raise ScenarioError(message, fix="add an instance first, or simulate the restart with a scenario")
    process_ids = _process_ids(group, instances)
    moment = asked_moment(snapshot, options, process_ids)
    probes, ways, left_out = _probes_of_a_surge(snapshot), ways_of(snapshot, restart_ms), list[tuple[Way, int]]()
    if process_ids:
        ways = [way for way in ways if way.name in _ALONE_WAYS]
    for way in [way for way in ways if way.name == "surge" and probes > _MOST_PROBES]:
        left_out.append((way, probes * snapshot.config.probing_rebalance_interval_ms))
        ways.remove(way)
    if process_ids:
        options = replace(options, closes_wait=False)  # it is asked who stops at that very moment
    simulate_way = partial(_simulate_way, snapshot, restart_ms, options, tuple(ways), process_ids)
    simulated_ways = list[SimulatedWay]()
    for played_way in in_processes(simulate_way, len(ways), workers if _worth_sharing(snapshot) else 1):
        simulated_ways.append(played_way)
        on_way(len(simulated_ways), len(ways))
    bounces = Bounces(
        restart_ms=restart_ms,
        ways=tuple(simulated_ways),
        left_out=tuple(left_out),
        process_ids=process_ids,
        time=moment.time if process_ids else None,
        doubts=moment.doubts,
    )
    if not bounces.goes_on:
        return bounces
    waiting_options, at_ms = (moment.options, moment.at_ms) if process_ids else (options, 0)
    waiting_plan = plan(snapshot, replace(waiting_options, floor=False, ranges=False))
    return replace(bounces, settles_in_ms=settled_after_ms(waiting_plan, snapshot, at_ms))


def _process_ids(group: Group, instances: Sequence[str]) -> tuple[str, ...]:
    """Return the process ids that the names stand for."""
    process_ids = tuple(process_id_of(group, name) for name in instances)
    duplicate = next((name for place, name in enumerate(instances) if process_ids[place] in process_ids[:place]), None)
    if duplicate is not None:
        raise ScenarioError(f"{duplicate!r} is named twice", where=group.application_id, fix="name it once")
    return process_ids


def _worth_sharing(snapshot: Snapshot) -> bool:
    group = snapshot.state.group
    return len(group.stateful) * len(group.instances) > _ALONE


def _probes_of_a_surge(snapshot: Snapshot) -> int:
    """Return how many probes it takes at least until new instances, with empty disks, run everything warm."""
    return -(-len(snapshot.state.group.stateful) // snapshot.config.max_warmup_replicas)


def ways_of(snapshot: Snapshot, restart_ms: int) -> list[Way]:
    """Return the ways a group can be restarted in; static members also with a session time-out that is enough."""
    ways = [Way(name=name) for name in ("default-close", "leave", "static", "surge")]
    config = snapshot.config
    least_ms = restart_ms + 2 * config.heartbeat_interval_ms
    if config.session_timeout_ms <= restart_ms + config.heartbeat_interval_ms and least_ms <= _LONGEST_TIME_OUT_MS:
        ways.insert(3, Way(name="static", settings=(("session_timeout_ms", -(-least_ms // _TO_MS) * _TO_MS),)))
    zones = _zones(snapshot)
    return ways + [Way(name=name, tag=tag, zones=ids) for tag, ids in zones.items() for name in ("zone", "zone-leave")]


def _zones(snapshot: Snapshot) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Return the instances by zone: by the tags that spread standbys, else by every tag, and by their racks."""
    group = snapshot.state.group
    tags = snapshot.config.rack_aware_assignment_tags or sorted(
        {tag for instance in group.instances for tag, _ in instance.client_tags}
    )
    instances = group.instances
    zones_by_tag = {
        tag: _by_zone(group, [dict(instance.client_tags).get(tag) for instance in instances]) for tag in tags
    }
    if not any(zones_by_tag.values()):
        zones_by_tag["rack"] = _by_zone(group, [instance.rack for instance in instances])
    return {tag: zones for tag, zones in zones_by_tag.items() if zones}


def _by_zone(group: Group, names: Sequence[str | None]) -> Mapping[str, tuple[str, ...]]:
    """Return the process ids by zone; nothing if an instance has none, or there is one zone, or one for each."""
    zones: dict[str, tuple[str, ...]] = {}
    for instance, name in zip(group.instances, names, strict=True):
        if name is None:
            return {}
        zones[name] = (*zones.get(name, ()), instance.process_id)
    return dict(sorted(zones.items())) if 1 < len(zones) < len(group.instances) else {}


def _simulate_way(
    snapshot: Snapshot,
    restart_ms: int,
    options: PlanOptions,
    ways: Sequence[Way],
    process_ids: Sequence[str],
    place: int,
) -> SimulatedWay:
    """Search the least safe pause of one way, and simulate it with that."""
    way = ways[place]
    snapshot = _with_settings(snapshot, way)
    group = snapshot.state.group
    everybody = [instance.process_id for instance in group.instances]
    restarted = process_ids or everybody

    def scenario_of(number: int, length_ms: int, pause_ms: int) -> Scenario:
        restarts_all = number == len(everybody) and not process_ids
        return way.scenario(length_ms, pause_ms, (ALL,) if restarts_all else restarted[:number])

    lengths_ms = (restart_ms, *other_sides_ms(snapshot.config, restart_ms))
    search = SafePause(snapshot, options, scenario_of, len(restarted), lengths_ms, all_at_once=bool(way.zones))
    safe_pause = search.find()
    scenario, restart_plan, restarts = search.simulation_of(safe_pause)
    draws, paused_counts = None, [standing_still(restart_plan, 0)]
    if is_random(scenario, group):
        number = min(DRAWS, usual_number(group, snapshot.config))
        simulation = simulate(snapshot, scenario, options, number_of_draws=number, what_ifs=False, floor=False)
        restart_plan, draws = simulation.plan, simulation.draws
        paused_counts = [standing_still(search.simulate(scenario, draw, check=False), 0) for draw in range(number)]
    figures = alternative_figures(restart_plan, draws)
    sides = [scenario]
    if safe_pause.outcome == "safe":  # else the search tells why not
        sides += (scenario_of(restarts, length_ms, safe_pause.pause_ms) for length_ms in lengths_ms[1:])
    draws_of_sides = [[with_random_ids(side, group, draw) for side in sides] for draw in range(len(paused_counts))]
    in_each = (_unproven_on_any_side(snapshot, options, draw_sides) for draw_sides in draws_of_sides)
    unproven = next(filter(None, in_each), ())  # of the first draw that has some: of others they are other starts
    if safe_pause.outcome == "safe" and not unproven:
        unproven = _unproven_in_other_outcomes(
            snapshot, options, [side for draw_sides in draws_of_sides for side in draw_sides]
        )
    doubtful_starts = _doubtful_starts(unproven, bool(process_ids))
    counted_starts = {*doubtful_starts, *(start for start in unproven if start.evidence.known is Known.BEHIND)}
    return SimulatedWay(
        way=way,
        safe_pause=safe_pause,
        restarts=restarts,
        scenario=scenario,
        plan=restart_plan,
        draws=draws,
        figures=figures,
        most_cold=most_cold(restart_plan, figures.cold_handovers.most) + len(counted_starts),
        still_at_once=Range(paused_counts[0 if draws is None else draws.shown], min(paused_counts), max(paused_counts)),
        ends_ms=max(
            [
                *restart_plan.ends("duration_ms", figures.balanced_ms.most),
                *(outage.to_ms for outage in restart_plan.outages),
            ]
        ),
        unproven=unproven,
        takes_proof=bool(process_ids),
        needs_static=way.name == "static" and not _are_static(group, restarted),
    )


def _unproven_on_any_side(
    snapshot: Snapshot, options: PlanOptions, sides: Sequence[Scenario]
) -> tuple[UnprovenStart, ...]:
    """Return the unproven starts of all sides of the session time-out, each once."""
    unproven = list[UnprovenStart]()
    for side in sides:
        known_starts = {(start.task_id, start.process_id) for start in unproven}
        starts = plan(snapshot, options.of_one_run(), scenario=side).unproven_starts
        unproven += (start for start in starts if (start.task_id, start.process_id) not in known_starts)
    return tuple(unproven)


def _unproven_in_other_outcomes(
    snapshot: Snapshot, options: PlanOptions, sides: Sequence[Scenario]
) -> tuple[UnprovenStart, ...]:
    """Return of each task the first start that is unproven, or restores first, in another outcome than the likely one.

    The restart may come on any side of the session time-out.
    """
    first = dict[WorkId, UnprovenStart]()
    for outcome in (outcome for side in sides for outcome in other_outcomes(request_of(snapshot, options, side))):
        for start in (*outcome.unproven_starts, *restoring_first(outcome)):
            evidence = replace(start.evidence, known=Known.UNKNOWN)  # whether it comes to that outcome is unknown
            first.setdefault(start.task_id, replace(start, evidence=evidence))
    return tuple(first.values())


def other_sides_ms(config: AssignmentConfig, restart_ms: int) -> tuple[int, ...]:
    """Return restarts on either side of the session time-out, if this one may come out on either."""
    if abs(restart_ms - config.session_timeout_ms) > config.heartbeat_interval_ms:
        return ()
    return config.session_timeout_ms - 1, config.session_timeout_ms + 1


def _with_settings(snapshot: Snapshot, way: Way) -> Snapshot:
    """Return the group as it has to be set up for a way."""
    config = replace(snapshot.config, **dict(way.settings))  # type: ignore[arg-type]
    return replace(snapshot, config=config)
