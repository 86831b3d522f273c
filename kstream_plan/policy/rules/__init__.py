"""The rules of a policy, by name. To add one is a function that measures it and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from kstream_plan.model.connect_group import DELAY_UNKNOWN, SAME_ADDRESS, WORKER_SILENT
from kstream_plan.model.not_modelled import NEWER_UNREAD, NOT_MODELLED
from kstream_plan.model.streams_group import CONTRADICTORY, NO_EPOCHS, NOT_READY, STATE_UNKNOWN
from kstream_plan.plans import Plan
from kstream_plan.policy.rules import amounts, balance, endings, origins, times
from kstream_plan.policy.rules.measuring import Kind, MeasuredPlan, Measurement, Offence, Rule

__all__ = ["GUARDS", "RULES", "Kind", "MeasuredPlan", "Measurement", "Offence", "Rule"]


def _stateful(plan: Plan) -> int:
    return len(plan.group.stateful)


def _tasks(plan: Plan) -> int:
    return len(plan.group.tasks)


def _all_records(plan: Plan) -> int | None:
    stateful = [plan.group.tasks[task] for task in plan.group.stateful]
    return sum(task.end_offset_sum for task in stateful) if all(task.end_offset_known for task in stateful) else None


#: A plan that says one of these comes of a group that contradicts itself, has gone on, or that others decide for: it
#: may end otherwise.
_CONTRADICTED = (CONTRADICTORY, STATE_UNKNOWN, NO_EPOCHS, NEWER_UNREAD, *NOT_MODELLED)
#: A plan that says one of these may leave out some of what happens.
_IN_DOUBT = (*_CONTRADICTED, "back-before-fenced", WORKER_SILENT, SAME_ADDRESS)
#: A plan that says one of these has work that waits for an unknown time.
_WAITS = (DELAY_UNKNOWN, "revocations-unknown", "not-dealt-out", *_IN_DOUBT)

#: Rule → how it is measured, in the order in which they are shown.
RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "must_settle": Rule(
            Kind.SWITCH,
            "The plan settles (default true).",
            endings.settles,
            figure="settles",
            unknown_with=_CONTRADICTED,
        ),
        "max_duration": Rule(
            Kind.DURATION,
            "Time until the group has settled.",
            times.duration,
            figure="duration_ms",
            unknown_with=(NOT_READY, *_WAITS),
        ),
        "max_rebalances": Rule(
            Kind.COUNT,
            "Rebalances in total.",
            amounts.rebalances,
            figure="rebalances",
            unknown_with=(DELAY_UNKNOWN, *_IN_DOUBT),
        ),
        "max_moves": Rule(
            Kind.COUNT,
            "Stateful tasks whose owning instance differs at the end; percent: of all stateful tasks.",
            amounts.moves,
            _stateful,
            figure="moves",
            unknown_with=(DELAY_UNKNOWN, *_IN_DOUBT),
        ),
        "max_warmups": Rule(
            Kind.COUNT,
            "Warm-up copies placed; percent: of all stateful tasks.",
            amounts.warmups,
            _stateful,
            figure="warmups",
            of_state=True,
            unknown_with=_IN_DOUBT,
        ),
        "max_cold_handovers": Rule(
            Kind.COUNT,
            "Starts of a stateful task on a copy that is not caught up; percent: of all stateful tasks.",
            amounts.cold_handovers,
            _stateful,
            figure="cold_handovers",
            of_state=True,
            unknown_with=_IN_DOUBT,
        ),
        "max_pause_per_task": Rule(
            Kind.DURATION,
            "Longest pause of a task in total.",
            times.pause_per_task,
            figure="max_paused_task_ms",
            unknown_with=_WAITS,
        ),
        "max_pause_per_handover": Rule(
            Kind.DURATION,
            "Longest single pause of a task.",
            times.pause_per_handover,
            figure="longest_pause_ms",
            unknown_with=_WAITS,
        ),
        "max_pause_in_all": Rule(
            Kind.DURATION,
            "Sum of the pauses of all tasks: task-seconds.",
            times.pause_in_all,
            figure="paused_task_ms",
            unknown_with=_WAITS,
        ),
        "max_paused_tasks_at_once": Rule(
            Kind.COUNT,
            "Tasks that are paused at the same time; percent: of all tasks.",
            times.paused_at_once,
            _tasks,
            figure="paused_tasks_at_once",
            unknown_with=_WAITS,
        ),
        "max_restored_records": Rule(
            Kind.RECORDS,
            "Records restored; percent: of all records of stateful tasks.",
            amounts.restored_records,
            _all_records,
            figure="restored_records",
            of_state=True,
            unknown_with=_IN_DOUBT,
        ),
        "max_peak_extra_copies": Rule(
            Kind.COUNT,
            "Warm-up and temporary copies at once; percent: of all stateful tasks.",
            amounts.peak_extra_copies,
            _stateful,
            figure="peak_extra_copies",
            of_state=True,
            unknown_with=_IN_DOUBT,
        ),
        "balance_factor": Rule(
            Kind.COUNT,
            "Instance and subtopology balance of active tasks at the end, as in KIP-441: maximum minus minimum.",
            balance.balance,
            lowest=1,
            unknown_with=_CONTRADICTED,
        ),
        "max_connector_tasks_per_worker": Rule(
            Kind.COUNT,
            "Most tasks of one connector that one worker of Kafka Connect runs at the end.",
            balance.connector_tasks,
            lowest=1,
            of_workers=True,
            unknown_with=_CONTRADICTED,
        ),
        "min_standbys": Rule(
            Kind.COUNT,
            "Standbys of every stateful task at the end.",
            endings.standbys,
            at_least=True,
            of_state=True,
            unknown_with=_CONTRADICTED,
        ),
        "distinct_tag_values": Rule(
            Kind.TAGS,
            "Values of each tag among the active and standby copies of a stateful task at the end.",
            endings.tag_values,
            lowest=1,
            at_least=True,
            of_state=True,
            unknown_with=_CONTRADICTED,
        ),
        "require_restore_rate": Rule(
            Kind.SWITCH,
            "The rate of whatever is restored is known; without one, max_duration is unknown, too.",
            times.restore_rate,
            of_input=True,
        ),
        "require_modelled": Rule(
            Kind.SWITCH,
            "The plan goes by all settings of the application that decide who runs what.",
            origins.modelled,
            of_input=True,
        ),
        "must_follow_target": Rule(
            Kind.SWITCH,
            "The target file counts, if the plan is by one (default true).",
            origins.follows_target,
            of_target=True,
        ),
        "max_snapshot_age": Rule(
            Kind.DURATION, "Age of the snapshot that the plan was made from.", origins.snapshot_age, of_input=True
        ),
        "require_generation": Rule(
            Kind.GENERATION, "The generation that the plan starts from.", origins.generation, of_input=True
        ),
    }
)

#: What the command line demands of the input, whatever the policy says; no waiver lets anybody off.
GUARDS: Mapping[str, Rule] = MappingProxyType(
    {
        "--require-generation": RULES["require_generation"],
        "--max-snapshot-age": RULES["max_snapshot_age"],
        "--expect-digest": Rule(Kind.DIGEST, "The digest of the input.", origins.digest),
    }
)
