"""The ways to restart instances, as JSON."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple

from kstream_plan.answers.document import FORM, added, document, field
from kstream_plan.documents.codec import (
    BOOLEAN,
    COUNT,
    TEXT,
    WHOLE,
    Codec,
    list_of,
    mapping_of,
    one_of,
    or_null,
    whole,
    with_name,
)
from kstream_plan.documents.plan.fields import LONGEST_PAUSE
from kstream_plan.documents.scenario_file import scenario_yaml
from kstream_plan.model.settings import kafka_name
from kstream_plan.plans.caught_up_evidence import options_that_tell
from kstream_plan.simulation.bounces import Bounces, Safety, SimulatedWay, Way


class _SimulatedWay(NamedTuple):
    """One way as it was simulated, whether it is the best one, and whether it is safe."""

    simulation: SimulatedWay
    best: bool
    safety: Safety


class _SkippedWay(NamedTuple):
    """A way that was not simulated, and its minimum duration."""

    way: Way
    least_ms: int


_NAME = with_name(
    "way",
    one_of(["default-close", "leave", "static", "surge", "zone", "zone-leave"]).described(
        "How they are restarted: one by one (by Kafka Streams' default close, leaving the group, as static members), a "
        "new one before each old one, or all of a zone at once."
    ),
)


def _of_way(path: str) -> dict[str, Any]:
    """Return the fields of a way itself; ``path`` leads to it."""
    way: Callable[[Any], Way] = attrgetter(path)
    return {
        "way": field(f"{path}.name", codec=_NAME),
        "settings": field(
            lambda row: {kafka_name(name): value for name, value in way(row).settings},
            "What has to be deployed before, in Kafka's spelling.",
            mapping_of(WHOLE),
        ),
        "tag": field(f"{path}.tag", "The client tag, or rack, that makes the zones; null: there are none."),
        "zones": field(
            lambda row: way(row).zones or None,
            "Process ids by zone; null: there are none.",
            or_null(mapping_of(list_of(TEXT))),
        ),
    }


def _origin() -> Codec[Any]:
    return FORM.view(
        Bounces,
        snapshot_digest=field("first.snapshot_digest", "Fingerprint of the group and its settings."),
        generation=field("first.generation"),
        captured_at=field("first.captured_at"),
        now=added(
            "The moment that is asked of, RFC 3339 in UTC: of instances that are named by default the clock's; null: "
            "unknown.",
            get="time",
        ),
    )


_SIMULATED = FORM.view(
    _SimulatedWay,
    **_of_way("simulation.way"),
    best="Whether it is the best of the ways that are safe or likely to be: no setup first, then proven, then fast.",
    safe=field(
        lambda row: row.safety == "yes",
        "With this pause, and not with one second less, the tasks of at most one instance are paused at a time, beyond "
        "a cut-over; nothing starts cold; the group settles, and all of that is proven.",
        BOOLEAN,
    ),
    safety=added(
        "The same in four answers. likely: if starts are warm that nothing proves to be (``unproven_starts``)."
    ),
    unproven_starts=added(
        COUNT,
        "Starts that count as warm, and nothing proves that they are.",
        get=lambda row: len(row.simulation.unproven),
    ),
    outcome=field(
        "simulation.safe_pause.outcome",
        "unsafe: with every pause that was simulated; undecided: a simulation of all restarts takes too many "
        "rebalances.",
    ),
    restarts=field("simulation.restarts", "Number of restarts, the first ones, behind these figures.", whole(1)),
    restarts_found=field(
        "simulation.safe_pause.restarts", "Number of safe restarts; for an unsafe way, of unsafe ones."
    ),
    longer_pause_ms_not_safe=field(
        "simulation.safe_pause.longer_ms",
        "A longer pause that is not safe for the first restarts, though this one is; null: none of those that were "
        "simulated.",
    ),
    settles=field("simulation.settles", "In every random simulation."),
    pause_ms=field(
        "simulation.pause_ms", "From one restart to the next; one of those that were simulated if none is safe."
    ),
    ends_ms=field("simulation.ends_ms", "Time until all instances are back and every task has its final owner."),
    duration_ms=added(
        "The same as it is likely, at least and at most, without what cold starts restore.", get="simulation.lasts_ms"
    ),
    still_at_once=field(
        "simulation.still_at_once",
        "Tasks of several instances that are paused at the same time, beyond a cut-over.",
    ),
    paused_at_once=field(
        "simulation.figures.paused_at_once", "Maximum of tasks that are paused at the same time, cut-overs included."
    ),
    draws=field("simulation.draws.number", "Number of random simulations of new ids; null: nothing is random."),
    rebalances=field("simulation.figures.rebalances"),
    cold_handovers=field("simulation.figures.cold_handovers", "Cold starts."),
    most_cold=field("simulation.worst_cold", "Maximum of cold starts, where they depend on something unknown."),
    max_paused_ms=field(
        "simulation.figures.max_paused_ms", "Longest pause of a task in total, without what it restores before it runs."
    ),
    longest_pause=added(LONGEST_PAUSE, get="simulation.longest_pause"),
    paused_tasks=added(
        list_of(TEXT),
        "The tasks that are paused at the same time when most are, in the simulation that is shown.",
        get=lambda row: list(map(str, row.simulation.plan.pauses.most_together())),
    ),
    restored_records=field("simulation.figures.restored_records", "Records restored; null: an end offset is unknown."),
    scenario=field(
        lambda row: scenario_yaml(row.simulation.scenario, row.simulation.way.name), "The scenario file, as YAML.", TEXT
    ),
)
_SKIPPED = FORM.view(_SkippedWay, **_of_way("way"), least_ms="The minimum duration.")
BOUNCE = document(
    "bounce",
    Bounces,
    "The ways to restart instances of a group, each with the shortest safe pause",
    group_at="first.group",
    models_at="first.models",
    input=field(lambda bounces: bounces, "What was asked.", _origin()),
    restart_ms=whole(1).described("How long each instance is down."),
    instances=added(
        or_null(list_of(TEXT)),
        "Process ids of the instances that are restarted now, in this order; null or absent: all. No way that needs "
        "preparation is the best one then.",
        get=lambda bounces: bounces.process_ids or None,
    ),
    answer=added("Whether those that are named may restart now, by default close; null: all are asked about."),
    settles_in_ms=added(
        or_null(whole(0)),
        "How long to wait until the group has settled without a restart, with one more probing interval; null: it has, "
        "or may never.",
    ),
    margin_ms=added(
        or_null(list_of(whole(0), 2, 2)),
        "How long a restart ends before the session time-out, at least and at most; null: it does not, or leaves.",
    ),
    back_within_ms=added(
        or_null(whole(0)),
        "How long after its stop an instance has to be back at the latest to keep its tasks; null: none keeps them.",
    ),
    doubts=added(
        "Why it is not known whether those that are named may restart: what may be over by now, and copies that may be "
        "behind.",
        get="reasons",
    ),
    settled_by=added(
        list_of(TEXT),
        "Options that would tell whether the unknown starts are warm.",
        get=lambda bounces: options_that_tell(
            start.evidence for start in (bounces.as_it_is.unproven if bounces.process_ids else ())
        ),
    ),
    ways=field(
        lambda bounces: [_SimulatedWay(way, way is bounces.best_safe, bounces.safety_of(way)) for way in bounces.ways],
        "The ways, as they were simulated.",
        list_of(_SIMULATED, 1),
    ),
    not_played=field(
        lambda bounces: [_SkippedWay(*way) for way in bounces.left_out],
        "Ways that restore everything anew, a few copies at a time.",
        list_of(_SKIPPED),
    ),
)
