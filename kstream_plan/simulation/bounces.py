"""Ways to restart every instance of a group: each with the least pause that is safe, found by playing it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeAlias

from kstream_plan.comparison.alternatives import AlternativeFigures, alternative_figures
from kstream_plan.errors import ScenarioError
from kstream_plan.model import Group, Snapshot
from kstream_plan.model.scenario import ALL, Bounce, Event, Leave, Return, Scenario, Stop
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans import Plan
from kstream_plan.plans.simulated import Draws
from kstream_plan.simulation.draws import usual_number
from kstream_plan.simulation.new_ids import drawn
from kstream_plan.simulation.one_plan import plan
from kstream_plan.simulation.outages import standing_still
from kstream_plan.simulation.simulate import simulate

#: A pause is found to this many milliseconds.
_TO_MS = 1_000
#: So many restarts tell the pause of one restart from the next; that it is safe for all is played then.
_FEW = 5
#: New instances, whose ids are random, are drawn so often.
_DRAWS = 5
#: A surge that takes more probes is days of work, for the group and for whoever plays it.
_MOST_PROBES = 50
#: Kafka's ``group.max.session.timeout.ms``, unless a broker has another one.
_LONGEST_TIME_OUT_MS = 1_800_000
#: ways done, ways in all
OnWay: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way to restart everybody, but for the pause.

    ``name`` is ``default-close``, ``leave``, ``static``, ``surge``, or, where all instances of a zone are restarted at
    once, ``zone`` or ``zone-leave``. ``settings`` (of ``AssignmentConfig``) have to be there before. ``zones`` are the
    process ids of each, by the value of the ``tag`` that makes them zones.
    """

    name: str
    settings: tuple[tuple[str, int], ...] = ()
    tag: str | None = None
    zones: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))

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
class PlayedWay:
    """One way, played on a group.

    ``safe``: with ``pause_ms`` two instances' tasks never stand still at once, none starts cold, and the group settles,
    in every draw and whether or not copies have caught up of which nobody knows that; with one second less that does
    not hold. If no pause is safe it is one of those that were tried. ``still_at_once``: so many
    tasks of several instances do stand still at once, beyond a hand-over. ``ends_ms``: everybody is back, and every
    task where it stays. ``most_cold`` tasks start cold at worst. ``scenario`` can be played again.
    """

    way: Way
    pause_ms: int
    safe: bool
    scenario: Scenario
    plan: Plan
    draws: Draws | None
    figures: AlternativeFigures
    most_cold: int
    still_at_once: int
    ends_ms: int

    @property
    def settles(self) -> bool:
        """Whether every draw settles."""
        return self.figures.settled == (1 if self.draws is None else self.draws.number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounces:
    """The ways to restart a group, as they were played, and why others were not.

    ``left_out``: ways with which everything has to be restored anew, a few copies at a time, and the least that this
    takes, in milliseconds, where that is too long to be worth playing.
    """

    restart_ms: int
    played: tuple[PlayedWay, ...]
    left_out: tuple[tuple[Way, int], ...]

    @property
    def fastest_safe(self) -> PlayedWay | None:
        """The fastest of the safe ways, one that takes no other settings before others; ``None``: none is safe."""
        safe = [of for of in self.played if of.safe]
        return min(safe, key=lambda of: (bool(of.way.settings), of.ends_ms, self.played.index(of)), default=None)


def bounce(
    snapshot: Snapshot,
    restart_ms: int,
    options: PlanOptions = PlanOptions(),
    *,
    workers: int = 1,
    on_way: OnWay = lambda _done, _all: None,
) -> Bounces:
    """Play every way to restart all instances of a group, each down for ``restart_ms``, with its least safe pause.

    A new instance of a surge has been up for ``restart_ms`` when the one that it stands in for stops. Of zones there
    are ways if a client tag, or else the racks, make several of the instances.

    Raises:
        ScenarioError: there is one instance only.
        PlanInvariantError: a plan contradicts itself, which is a defect of this tool.
    """
    group = snapshot.state.group
    if len(group.instances) == 1:
        fix = "its tasks stand still until it is back; simulate plays that"
        raise ScenarioError("the only instance has nobody to hand over to", where=group.application_id, fix=fix)
    search, probes = _Search(snapshot, restart_ms, options), _probes_of_a_surge(snapshot)
    ways = ways_of(snapshot, restart_ms)
    played, left_out = [], []
    for done, way in enumerate(ways, start=1):
        if way.name == "surge" and probes > _MOST_PROBES:
            left_out.append((way, probes * snapshot.config.probing_rebalance_interval_ms))
        else:
            played.append(_played(search, way, workers))
        on_way(done, len(ways))
    return Bounces(restart_ms=restart_ms, played=tuple(played), left_out=tuple(left_out))


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
    return ways + [Way(name=name, tag=tag, zones=of) for tag, of in zones.items() for name in ("zone", "zone-leave")]


def _zones(snapshot: Snapshot) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Return the instances by zone: by the tags that spread standbys, else by every tag, and by their racks."""
    group = snapshot.state.group
    tags = snapshot.config.rack_aware_assignment_tags or sorted(
        {tag for instance in group.instances for tag, _ in instance.client_tags}
    )
    found = {tag: _by_zone(group, [dict(of.client_tags).get(tag) for of in group.instances]) for tag in tags}
    if not any(found.values()):
        found["rack"] = _by_zone(group, [of.rack for of in group.instances])
    return {tag: zones for tag, zones in found.items() if zones}


def _by_zone(group: Group, names: Sequence[str | None]) -> Mapping[str, tuple[str, ...]]:
    """Return the process ids by zone; nothing if not everybody has one, or they are no zones of several."""
    zones: dict[str, tuple[str, ...]] = {}
    for instance, name in zip(group.instances, names, strict=True):
        if name is None:
            return {}
        zones[name] = (*zones.get(name, ()), instance.process_id)
    return dict(sorted(zones.items())) if 1 < len(zones) < len(group.instances) else {}


@dataclass(frozen=True, slots=True)
class _Search:
    """Plays ways with other pauses."""

    snapshot: Snapshot
    restart_ms: int
    options: PlanOptions

    @property
    def longest_ms(self) -> int:
        """The longest pause that is tried: two probes, and what comes before them."""
        config = self.snapshot.config
        return 2 * config.probing_rebalance_interval_ms + 4 * config.session_timeout_ms

    @property
    def everybody(self) -> list[str]:
        return [instance.process_id for instance in self.snapshot.state.group.instances]

    def is_safe(self, way: Way, process_ids: Sequence[str], pause_ms: int) -> bool:
        """Play the restarts of these instances: see :class:`PlayedWay`."""
        snapshot = self.with_settings(way)
        return all(
            is_safe(self.play(snapshot, way.scenario(restart_ms, pause_ms, process_ids)))
            for restart_ms in (self.restart_ms, *self.other_sides_ms(way))
        )

    def other_sides_ms(self, way: Way) -> tuple[int, ...]:
        """Return restarts on either side of the session time-out, if this one may come out on either."""
        config = self.with_settings(way).config
        if abs(self.restart_ms - config.session_timeout_ms) > config.heartbeat_interval_ms:
            return ()
        return config.session_timeout_ms - 1, config.session_timeout_ms + 1

    def least_safe_pause_ms(self, way: Way, process_ids: Sequence[str], low_ms: int = 0) -> int | None:
        """Return the least pause from ``low_ms`` on with which these restarts are safe; ``None``: none."""
        high_ms = self.longest_ms
        if self.is_safe(way, process_ids, low_ms):
            return low_ms
        if not self.is_safe(way, process_ids, high_ms):
            return None
        while high_ms - low_ms > _TO_MS:
            middle_ms = (low_ms + high_ms) // 2 // _TO_MS * _TO_MS
            if self.is_safe(way, process_ids, middle_ms):
                high_ms = middle_ms
            else:
                low_ms = middle_ms
        return high_ms

    def with_settings(self, way: Way) -> Snapshot:
        """Return the group as it has to be set up for a way."""
        config = replace(self.snapshot.config, **dict(way.settings))  # type: ignore[arg-type]
        return replace(self.snapshot, config=config)

    def play(self, snapshot: Snapshot, scenario: Scenario, draw: int = 0, *, ready: bool = False) -> Plan:
        """Play restarts with the ids of one draw; ``ready`` as in :class:`PlanOptions`."""
        of = drawn(scenario, snapshot.state.group, draw)
        return plan(snapshot, self.options, scenario=of, bounds=False, floor=False, ranges=False, ready=ready)


def is_safe(made: Plan) -> bool:
    """Tell whether restarts settle, nothing starts cold, and the tasks of one instance at most stand still at once."""
    settles = made.verdict.kind == "settled" and all(of.low for of in made.summary.ranges if of.figure == "settles")
    return settles and not _most_cold(made, made.summary.cold_handovers) and not standing_still(made, 0)


def _most_cold(made: Plan, cold_handovers: int) -> int:
    """Return the worse end, where the cold starts hang on what nobody knows."""
    return max([cold_handovers, *(of.high for of in made.summary.ranges if of.figure == "cold_handovers")])


def _played(search: _Search, way: Way, workers: int) -> PlayedWay:
    """Play a way with the pause that a few restarts need; if that is too short for all, with what all of them need."""
    pause_ms = search.least_safe_pause_ms(way, search.everybody[:_FEW])
    found = _simulated(search, way, pause_ms, workers)
    if pause_ms is None or (found.safe and not (search.other_sides_ms(way) and search.everybody[_FEW:])):
        return found
    longer_ms = search.least_safe_pause_ms(way, search.everybody, pause_ms)
    return found if longer_ms == pause_ms else _simulated(search, way, longer_ms, workers)


def _simulated(search: _Search, way: Way, pause_ms: int | None, workers: int) -> PlayedWay:
    waits_ms = search.longest_ms if pause_ms is None else pause_ms
    scenario = way.scenario(search.restart_ms, waits_ms)
    snapshot = search.with_settings(way)
    simulated = simulate(
        snapshot,
        scenario,
        search.options,
        number_of_draws=min(_DRAWS, usual_number(snapshot.state.group, snapshot.config)),
        workers=workers,
        what_ifs=False,
        floor=False,
    )
    ends = (False, True) if simulated.plan.summary.ranges else (False,)
    made, figures = simulated.plan, alternative_figures(simulated.plan, simulated.draws)
    number = 1 if simulated.draws is None else simulated.draws.number
    return PlayedWay(
        way=way,
        pause_ms=waits_ms,
        safe=pause_ms is not None
        and is_safe(made)
        and all(
            is_safe(search.play(snapshot, scenario, draw, ready=ready)) for draw in range(number) for ready in ends
        ),
        most_cold=_most_cold(made, figures.cold_handovers.most),
        scenario=scenario,
        plan=made,
        draws=simulated.draws,
        figures=figures,
        still_at_once=standing_still(made, 0),
        ends_ms=max([*made.ends("duration_ms", figures.balanced_ms.most), *(outage.to_ms for outage in made.outages)]),
    )
