"""The digest of what a plan is made from."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict

from kstream_plan.model import GroupState, Rates
from kstream_plan.model.scenario import Scenario
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.model.starting_state import KnownHistory


def input_digest(
    state: GroupState,
    config: AssignmentConfig,
    rates: Rates,
    scenario: Scenario | None = None,
    beginning: KnownHistory | None = None,
) -> str:
    """Return the SHA-256 (hex) of the selected input in canonical form.

    Tasks, members, what they hold, what is on disk, the generation, the rates and the settings the plan is made with
    count, and what happens to the group meanwhile; and, as far from now as they are, the decision that is known
    (``beginning``) and when lags were reported. The time of the capture and the order of anything in the input do not.
    """
    group = state.group
    canonical = {
        "application_id": group.application_id,
        "generation": state.generation,
        "leader": state.leader,
        "config": {name: value for name, value in asdict(config).items() if value is not None},
        "tasks": [
            (
                str(task.task_id),
                task.stateful,
                task.end_offset_sum if task.end_offset_known else None,
                task.source_partitions,
                task.changelog_partitions,
            )
            for task in group.tasks
        ],
        "instances": [asdict(instance) for instance in group.instances],
        "holdings": tuple(state.holdings),
        "copies": [[(copy.instance, copy.lag, copy.reporters) for copy in copies] for copies in state.copies],
        "rates": [
            sorted(rates.restore.items()),
            sorted(rates.produce.items()),
            rates.restore_per_instance,
            rates.produce_per_task,
        ],
    }
    if state.memory is not None:
        canonical["memory"] = repr(state.memory)
    if beginning is not None:
        decision = None if beginning.decision is None else asdict(beginning.decision)
        if decision and not decision["rejoining"]:
            del decision["rejoining"]
        reported = sorted(report for report in beginning.reported_ms.items() if report[1])
        known_history = [decision, reported, sorted(beginning.since_ms.items()), sorted(beginning.started_ms.items())]
        if any(known_history):
            canonical["beginning"] = known_history
        if beginning.no_closer:
            canonical["no_closer"] = sorted(beginning.no_closer)
    if rates.restore_of or rates.produce_of:
        canonical["rates_of_some"] = [sorted(rates.restore_of.items()), sorted(rates.produce_of.items())]
    if scenario is not None:
        canonical["scenario"] = [(type(event).__name__, asdict(event) | {"where": ""}) for event in scenario.events]
    text = json.dumps(canonical, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()
