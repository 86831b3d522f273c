"""What it takes to become a streams group, and for Connect to get to ``sessioned``, as JSON."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kstream_plan.answers.document import FORM, added, document, field
from kstream_plan.documents.codec import BOOLEAN, COUNT, TEXT, list_of, one_of, whole
from kstream_plan.model.streams_group import BROKER_VERSIONS
from kstream_plan.simulation.connect_upgrade_answer import SessionedUpgrade, UpgradeRow
from kstream_plan.simulation.streams_migration_answer import Switch, SwitchRow, WithoutEffect

_OF_SNAPSHOT: dict[str, Any] = {"group_at": "snapshot.state.group", "models_at": "models"}
_STEPS = list_of(TEXT).described("What to do, in order, in words.")


def _snapshot(answer_type: type) -> dict[str, Any]:
    """Return the fields about the snapshot."""
    origin = FORM.view(
        answer_type,
        snapshot_digest="Fingerprint of the group and its settings.",
        generation=field("snapshot.state.generation"),
        captured_at=field("snapshot.captured_at"),
    )
    group = FORM.view(
        answer_type,
        instances=field(lambda upgrade: len(upgrade.snapshot.state.group.instances), codec=COUNT),
        tasks=field(lambda upgrade: len(upgrade.snapshot.state.group.tasks), codec=COUNT),
    )
    return {
        "input": field(lambda upgrade: upgrade, "What was asked.", origin),
        "group": added(group, "The group.", get=lambda upgrade: upgrade),
    }


_TRUE = replace(BOOLEAN, schema={"const": True})
_DRAWS: dict[str, Any] = {
    "draws": field("figures.draws", "Random simulations of the members' ids; 1 where nothing is random.", whole(1)),
    "settled": field("figures.settled_draws", "Number of random simulations that settle."),
}
FORM.record(
    WithoutEffect, name="In Kafka's spelling.", value="The value.", is_set="Whether it differs from Kafka's default."
)
_SWITCH_ROW = FORM.view(
    SwitchRow,
    what="What happens: the switch itself; instances join; one is restarted; it crashes for good.",
    standbys=whole(0, 2).described("For each stateful task, on this side."),
    side="The protocol.",
    **_DRAWS,
    rebalances=field("figures.rebalances", "For a streams group the number of targets that its broker computes."),
    cold_handovers=field("figures.cold_handovers", "Tasks that restore before they run."),
    restored_records=field("figures.restored_records", "Null: an end offset is unknown."),
    slowest_restore_ms=field(
        "figures.slowest_ms",
        "How long the slowest task that starts cold restores before it runs; null: unknown.",
    ),
    max_paused_ms=field("figures.paused_ms", "Longest pause of a task, without what it restores before it runs."),
    runs_ms=field(
        "figures.runs_ms",
        "When every task runs at its final owner, restores included; null: unknown, or it does not settle.",
    ),
    at_least_ms=field("figures.at_least_ms", "The same as far as it is known, as at_least_is says."),
    at_least_is=added(
        one_of(["least", "likely"]),
        "What at_least_ms is. least: the minimum; likely: when every task has its final owner, if each copy has caught "
        "up at the next probe.",
        get="figures.at_least_is",
    ),
)
SWITCH = document(
    "switch",
    Switch,
    "What the switch of a classic group to a streams group takes, and what happens on either side",
    title="upgrade --to streams",
    **_OF_SNAPSHOT,
    **_snapshot(Switch),
    broker_version=one_of(BROKER_VERSIONS).described("The release of the brokers."),
    offline=field(
        lambda _switch: True, "No instance may run during the switch: no known release can do it otherwise.", _TRUE
    ),
    away_ms="How long nothing runs, until the instances start anew.",
    restart_ms=whole(1).described("How long the bounced instance is down."),
    joining=field("add", "How many instances join.", whole(1)),
    instance="The process id of the instance that is bounced and crashes: it runs the most.",
    draws=whole(1).described("Random simulations behind a row at most."),
    without_effect="Settings of the application that have no effect in a streams group.",
    rows=list_of(_SWITCH_ROW, 1).described("What happens, on either side."),
    steps=_STEPS,
)
_UPGRADE_ROW = FORM.view(
    UpgradeRow,
    what="upgrade: the rolling restart itself.",
    protocol="The protocol; for upgrade the one before it.",
    **_DRAWS,
    rebalances=field("figures.rebalances"),
    at_once=field(
        "figures.at_once",
        "Maximum of connectors and tasks that are paused at the same time, in the worst random simulation.",
    ),
    longest_ms=field("figures.longest_ms", "Longest pause of one of them in total, in the worst random simulation."),
    item_ms=field("figures.item_ms", "Sum of the pauses of all of them."),
    takes_ms=field("figures.takes_ms", "Time until nothing follows."),
    times_open=added(
        BOOLEAN,
        "Whether all times of the row may be others: a delay may run, for how long is unknown.",
        get="figures.times_open",
    ),
)
SESSIONED = document(
    "sessioned",
    SessionedUpgrade,
    "How a Kafka Connect group gets to the protocol sessioned, and what happens then by either protocol",
    title="upgrade --to sessioned",
    **_OF_SNAPSHOT,
    **_snapshot(SessionedUpgrade),
    protocol=one_of(["eager", "compatible"]).described("The current protocol."),
    restart_ms=whole(1).described("How long each worker is down."),
    pause_ms="From the return of one worker until the next one stops.",
    joining=field("add", "Number of workers that join in rows of join.", whole(1)),
    worker="Member id of the worker that is restarted and killed: it runs the most, apart from the leader.",
    leader="Member id of the leader; null: unknown.",
    draws=whole(1).described("Random simulations behind a row at most."),
    rows=list_of(_UPGRADE_ROW).described("What happens, by either protocol."),
    steps=_STEPS,
)
