"""A target file from a plan, from where a group is, or from where a plan began; and what keeps one from being written.

Source: page ``run-a-plan``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import chain
from math import inf
from typing import NamedTuple

from kstream_plan.assignors import FOLLOWS_A_FILE
from kstream_plan.assignors.planned.target_file import (
    MAX_WARMUPS,
    Slot,
    TargetFile,
    TargetRefused,
    parse_target,
    target_text,
)
from kstream_plan.errors import KstreamPlanError
from kstream_plan.model import LATEST, UNKNOWN, Copy, Group, GroupState, Holding, Instance, Note, Rates, Snapshot
from kstream_plan.model.answer import Answer
from kstream_plan.model.note import Remarks, count, name_list
from kstream_plan.model.ranking import is_caught_up
from kstream_plan.model.releases import OWN_ASSIGNOR
from kstream_plan.model.scenario import Burst, Event, Join, Leave, ProduceRate, RestoreRate, Scenario, Threads
from kstream_plan.model.times import duration, format_time
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans import HandOver, MemberJoined, MemberLeft, Place, Plan, Promote, Role
from kstream_plan.plans.plan import NOT_PLAYED, RESTORES_WITHIN_LIMIT, CopyBehind
from kstream_plan.plans.simulated import Simulation
from kstream_plan.simulation.one_plan import plan as plan_of

#: A ConfigMap has room for 1 MiB with all that is around the file.
MAX_TEXT_BYTES = 900_000
MAX_EXPIRES_MS = 24 * 3_600_000
#: The ways to tell members apart, but for ``tag:KEY``.
WAYS = ("static", "host", "client", "process")

_THREAD = re.compile(r"(.+)-StreamThread-[0-9]+.*", re.DOTALL)
_THREAD_OF_STATIC = re.compile(r"(.+)-[0-9]+", re.DOTALL)
#: A match by an id that a process makes for itself.
_BRIEF = re.compile(r"process:|client:.*[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.DOTALL)
#: What changes how fast copies are restored, and what they lack.
_RATES = (ProduceRate, RestoreRate, Burst)
_HOST_AND_PORT = re.compile(r".+:[0-9]+", re.DOTALL)


class ExportRefusedError(KstreamPlanError):
    """A plan cannot be exported; ``reasons`` are all there are."""

    exit_code = 3

    def __init__(self, reasons: Sequence[str], *, where: str, application_id: str) -> None:
        numbered_reasons = (
            reasons if len(reasons) == 1 else [f"{number}. {reason}" for number, reason in enumerate(reasons, 1)]
        )
        super().__init__("; ".join(numbered_reasons), where=where, application_id=application_id)
        self.reasons = tuple(reasons)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest:
    """How a target file is to be made.

    ``plan_id`` is the beginning of the SHA-256 of the plan's JSON; ``match_by`` tells members apart: ``tag:KEY`` or one
    of :data:`WAYS`; ``new_by_elimination``: members that join take the slots that no other one matches;
    ``expires_in_ms`` counts from ``now_ms``, since 1970; ``warmups``: ``None``: as many as the plan's settings say.
    """

    plan_id: str
    match_by: str
    now_ms: int
    expires_in_ms: int
    probe_ms: int
    warmups: int | None = None
    new_by_elimination: bool = False
    max_snapshot_age_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """A target file, and what it leads to.

    ``simulated_plan`` is the plan with this file; ``None``: ``unsimulated`` says why there is none. ``is_grouped``: the
    tasks warm up in batches for one instance after another. ``is_back``: it leads to where the plan began.
    """

    file: TargetFile
    simulated_plan: Plan | None
    unsimulated: str = ""
    is_grouped: bool = False
    is_back: bool = False
    remarks: Remarks

    @property
    def text(self) -> str:
        """The file as it is written."""
        return target_text(self.file)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetExport:
    """What ``export-target`` answers.

    ``path`` is the file that is written, ``source`` that of the plan or snapshot. ``reasons`` are why none is written:
    then ``export`` is ``None``.
    """

    application_id: str
    path: str
    source: str
    reasons: tuple[str, ...] = ()
    export: Export | None = None

    @property
    def answer(self) -> Answer:
        """Whether it was written."""
        return Answer.NO if self.export is None else Answer.YES

    @property
    def remarks(self) -> Remarks:
        """The lines below the answer."""
        return Remarks() if self.export is None else self.export.remarks


class _Beginning(NamedTuple):
    """The beginning of a simulation: its members, their holdings, the copies that are behind, and the events."""

    process_ids: frozenset[str]
    holdings: Sequence[Holding]
    copies_behind: Sequence[CopyBehind]
    events: tuple[Event, ...]


def export_plan(plan: Plan, request: ExportRequest, path: str, simulation: Simulation | None = None) -> Export:
    """Return the target file that leads a group to the end of a plan.

    Args:
        plan: the plan.
        request: how the file is to be made.
        path: the plan's file, for error messages.
        simulation: what the plan came of, if that was a scenario.

    Raises:
        ExportRefusedError: the plan, or what is asked for, does not do.
    """
    group = plan.group
    members = [group.instances[group.instance_index[process_id]] for process_id, _ in plan.members]
    slots, wrong = _slots(group, members, plan.final, request, _joined_ids(plan))
    scenario_events = () if simulation is None else simulation.scenario.events
    lasting = [*_reasons_of_plan(plan), *_reasons_of_events(scenario_events), *wrong]
    reasons = [*lasting, *_reason_of_age(_epoch_ms(plan.captured_at), request), *_reasons_of_request(request)]
    if lasting:
        raise ExportRefusedError(reasons, where=path, application_id=plan.group.application_id)
    events = (*_events(plan), *_rate_events(plan, scenario_events))
    beginning = _Beginning(frozenset(plan.first_members), plan.initial, plan.behind, events)
    export = _simulated_export(plan, _file(plan, slots, request), _warm_up_order(plan), beginning, request)
    if (cold := _cold_starts(plan)) and not (export.simulated_plan and _cold_starts(export.simulated_plan)):
        reasons.append(f"{cold} in it, for which nothing waits")
    reasons += _reasons_of_export(export, request, _first_ms(plan))
    if reasons:
        raise ExportRefusedError(reasons, where=path, application_id=plan.group.application_id)
    not_simulated = (note for note in plan.warnings if note.code in NOT_PLAYED)
    restoring = (note for note in (export.simulated_plan or plan).warnings if note.code == RESTORES_WITHIN_LIMIT)
    warnings = (*_unproven_starts(plan), *restoring, *not_simulated, *export.remarks.warnings)
    return replace(export, remarks=export.remarks._replace(warnings=warnings))


def _unproven_starts(plan: Plan) -> Iterator[Note]:
    """Yield which tasks may start cold as in the plan: a simulation with a file takes their copies for caught up."""
    tasks = tuple(dict.fromkeys(str(start.task_id) for start in plan.unproven_starts))
    if tasks:
        message = (
            f"{count(len(tasks), 'task')} may start cold, as in the plan: {name_list(tasks)} (kstream-plan show says "
            "why, and which option would tell)"
        )
        yield Note("unproven-starts", message, tasks)
    elif (most := plan.ends("cold_handovers")[1]) > plan.summary.cold_handovers:
        message = (
            f"Up to {count(most, 'task')} may start cold in another outcome of the plan (kstream-plan show says why)"
        )
        yield Note("unproven-starts", message)


def _joined_ids(plan: Plan) -> set[str]:
    """Return the process ids of those who join in a plan."""
    return {step.process_id for rnd in plan.rounds for step in rnd.member_steps if isinstance(step, MemberJoined)}


def _simulated_export(
    plan: Plan, draft: TargetFile, order: tuple[str, ...], beginning: _Beginning, request: ExportRequest
) -> Export:
    """Return the faster of two exports: with tasks in batches, and in this order."""
    fastest = _fastest(plan, draft, order, beginning, request)
    return Export(
        file=replace(draft, order=fastest.order),
        simulated_plan=fastest.plan,
        is_grouped=fastest.order != order,
        remarks=_remarks(plan, slots=draft.slots, times=plan.rates[0] is None),
    )


def _reasons_of_export(export: Export, request: ExportRequest, first_ms: int = 0) -> Iterator[str]:
    """Yield why a file must not be written; ``first_ms``: how long it takes until its simulation begins."""
    if export.simulated_plan is not None:
        yield from _reasons_of_simulation(export.simulated_plan, request, first_ms)
    yield from _reasons_of_text(export.file)


class _Simulated(NamedTuple):
    """A plan by a target file, and the order of warm-ups in that."""

    plan: Plan
    order: tuple[str, ...]


def _fastest(
    plan: Plan, draft: TargetFile, order: tuple[str, ...], beginning: _Beginning, request: ExportRequest
) -> _Simulated:
    """Simulate with both orders: in batches, and as the plan has it; the first of those that take as long."""
    orders = dict.fromkeys([_grouped(order, _owners(draft), draft.warmups), order])
    candidates = [
        _Simulated(_simulate_file(plan, replace(draft, order=tasks), beginning, request), tasks) for tasks in orders
    ]
    return min(
        candidates, key=lambda candidate: (candidate.plan.verdict.kind != "settled", candidate.plan.summary.duration_ms)
    )


def _cold_starts(plan: Plan) -> str:
    """Return how many tasks start cold in a plan, with the verb; empty: none."""
    number = plan.summary.cold_handovers
    return f"{number} {'task starts' if number == 1 else 'tasks start'} cold" if number else ""


def _reasons_of_simulation(simulated_plan: Plan, request: ExportRequest, first_ms: int) -> Iterator[str]:
    if simulated_plan.verdict.kind != "settled":
        yield "simulated with this file, the group does not settle"
        return
    if simulated_plan.may_not_settle is not None:
        yield f"simulated with this file, it may not settle. {simulated_plan.may_not_settle}"
    refusals = [rnd.follows.refusal for rnd in simulated_plan.rounds if rnd.follows is not None and rnd.follows.refusal]
    if refusals:
        yield (
            f"simulated with it, {len(refusals)} of {len(simulated_plan.rounds)} rebalances are decided without the "
            f"file ({refusals[0]}): export a plan in which all who leave have left before others join"
        )
    if cold := _cold_starts(simulated_plan):
        yield f"simulated with it, {cold}"
    likely_ms, longest_ms = (
        2 * (first_ms + simulated_plan.summary.duration_ms),
        first_ms + simulated_plan.ends("duration_ms")[1],
    )
    if request.expires_in_ms < max(likely_ms, longest_ms):
        expires_in, needed_time = duration(request.expires_in_ms), duration(max(likely_ms, longest_ms))
        basis = "twice the simulated time" if likely_ms >= longest_ms else "the longest that it may take"
        preceding = f" and the {duration(first_ms)} before it" * (first_ms > 0)
        yield f"--set expires.in={expires_in} is below {needed_time}, {basis}{preceding}"


def export_back(plan: Plan, request: ExportRequest, path: str) -> Export:
    """Return the target file that leads a group back to where a plan began; who joined in it gets nothing.

    It is simulated from the plan's end, with nothing left over on disks, from the next rebalance on.

    Raises:
        ExportRefusedError: the plan, or what is asked for, does not do.
    """
    slots, wrong = _slots(plan.group, plan.group.instances, plan.initial, request, _joined_ids(plan))
    lasting = [*_reasons_of_group(plan), *wrong]
    reasons = [*lasting, *_reasons_of_request(request)]
    draft = _file(plan, slots, request)
    unsimulated = "" if lasting else _not_simulated_back(plan)
    if lasting or unsimulated:
        return _unsimulated(plan, draft, unsimulated, reasons, path)
    members = frozenset(process_id for process_id, _ in plan.members)
    beginning = _Beginning(members, plan.final, tuple(_behind_at_end(plan)), ())
    export = _simulated_export(plan, draft, tuple(_moving(plan, plan.final, plan.initial)), beginning, request)
    reasons += _reasons_of_export(export, request)
    if reasons:
        raise ExportRefusedError(reasons, where=path, application_id=plan.group.application_id)
    return replace(export, is_back=True)


def _not_simulated_back(plan: Plan) -> str:
    """Return why the way back is not simulated; empty: it is."""
    members = {process_id for process_id, _ in plan.members}
    left_ids = [process_id for process_id in plan.first_members if process_id not in members]
    if plan.verdict.kind != "settled" or not plan.ends("settles")[0] or plan.end is None:
        return "The plan does not say where the group is on the way, so the time it takes back is unknown"
    if left_ids:
        number = count(len(left_ids), "instance has", "instances have")
        return f"{number} left in the plan: when they are back is unknown, and so is the time that it takes"
    return ""


def _behind_at_end(plan: Plan) -> Iterator[CopyBehind]:
    """Yield the standbys that do not count as caught up when a plan ends, by consumer; who ran a task has it all."""
    assert plan.end is not None
    group, limit = plan.group, plan.config.acceptable_recovery_lag
    reported = {(copy.task_id, copy.process_id): copy for copy in plan.end.copies}
    active_copies = {
        (task_id, instance.process_id)
        for instance in plan.end.instances
        for consumer in instance.consumers
        for task_id in consumer.active
    }
    for consumer, holding in enumerate(plan.final):
        process_id = group.instances[group.instance_of[consumer]].process_id
        for task in holding.standby:
            kind = group.tasks[task]
            place = (str(kind.task_id), process_id)
            copy = reported.get(place)
            lag = 0 if copy is None and place in active_copies else None if copy is None else copy.lag
            if lag is None or not is_caught_up(lag, limit):
                to_restore = kind.end_offset_sum if copy is None or copy.to_restore is None else copy.to_restore
                yield CopyBehind(kind.task_id, process_id, to_restore)


def export_stay(snapshot: Snapshot, request: ExportRequest, path: str) -> Export:
    """Return the target file that keeps every task where it runs now: a brake.

    Raises:
        ExportRefusedError: the group, or what is asked for, does not do.
    """
    group = snapshot.state.group
    age = _reason_of_age(snapshot.captured_at_ms, request)
    slots, wrong = _slots(group, group.instances, _without_warm_ups(snapshot), request, set())
    reasons = [*age, *_reasons_of_release(snapshot.streams_version), *_reasons_of_request(request), *wrong]
    return _unsimulated(snapshot, _file(snapshot, slots, request), "Nothing moves by it", reasons, path)


def _without_warm_ups(snapshot: Snapshot) -> list[Holding]:
    """Return what is assigned without copies beside the wanted ones: of a task those stay that are least behind.

    A log may not tell how many are wanted: then it is as many as every task has.
    """
    group = snapshot.state.group
    lags = [{copy.instance: copy.lag for copy in of_task} for of_task in snapshot.state.copies]

    def lag_key(task: int, consumer: int) -> tuple[float, str]:
        instance = group.instance_of[consumer]
        lag = lags[task].get(instance, UNKNOWN)
        return inf if lag is None or lag == UNKNOWN else lag, group.instances[instance].process_id

    holders = dict[int, list[int]]()
    for consumer, holding in enumerate(snapshot.assigned):
        for task in holding.standby:
            holders.setdefault(task, []).append(consumer)
    fewest = min((len(holders.get(task, ())) for task in group.stateful), default=0)
    standby_count = max(snapshot.config.num_standby_replicas, fewest)
    kept_copies = {
        (task, consumer)
        for task, consumers in holders.items()
        for consumer in sorted(consumers, key=partial(lag_key, task))[:standby_count]
    }
    return [
        holding._replace(standby=tuple(task for task in holding.standby if (task, consumer) in kept_copies))
        for consumer, holding in enumerate(snapshot.assigned)
    ]


def _unsimulated(
    source: Plan | Snapshot, file: TargetFile, unsimulated: str, reasons: Sequence[str], path: str
) -> Export:
    all_reasons = [*reasons, *([] if reasons else _reasons_of_text(file))]
    if all_reasons:
        raise ExportRefusedError(all_reasons, where=path, application_id=file.application)
    return Export(file=file, simulated_plan=None, unsimulated=unsimulated, remarks=_remarks(source, slots=file.slots))


def _file(source: Plan | Snapshot, slots: tuple[Slot, ...], request: ExportRequest) -> TargetFile:
    group = source.group if isinstance(source, Plan) else source.state.group
    warmups = source.config.max_warmup_replicas if request.warmups is None else request.warmups
    return TargetFile(
        plan=request.plan_id,
        application=group.application_id,
        expires_ms=(request.now_ms + request.expires_in_ms) // 1000 * 1000,
        waits_for_more=isinstance(source, Snapshot),  # a brake holds whoever joins
        warmups=min(warmups, MAX_WARMUPS),
        probe_ms=request.probe_ms,
        order=(),
        slots=slots,
    )


def _reasons_of_group(plan: Plan) -> Iterator[str]:
    if plan.design != "classic":
        yield f"it is of a group that coordinates by {plan.design}: only classic groups bring their own assignor"
    yield from _reasons_of_release(_release(plan))


def _release(source: Plan | Snapshot) -> str | None:
    """Return which release of Kafka Streams runs; ``None``: it is unknown."""
    if isinstance(source, Snapshot):
        return source.streams_version
    return None if source.end is None else source.end.streams_version


def _reasons_of_release(release: str | None) -> Iterator[str]:
    if not OWN_ASSIGNOR.is_in(release):
        yield f"the group runs Kafka Streams {release}: an application brings its own assignor since 3.8"


def _reasons_of_plan(plan: Plan) -> Iterator[str]:
    """Yield why a plan cannot be run."""
    yield from _reasons_of_group(plan)
    if plan.verdict.kind != "settled":
        yield f"it does not settle: {plan.verdict.kind}"
    if plan.may_not_settle is not None:
        yield f"it may not settle. {plan.may_not_settle}"
    kinds: dict[str, set[type]] = {}
    for step in chain.from_iterable(rnd.member_steps for rnd in plan.rounds):
        kinds.setdefault(step.process_id, set()).add(type(step))
    returning_ids = sorted(process_id for process_id, steps in kinds.items() if len(steps) > 1)
    if plan.later_configs or plan.outages:
        yield "settings change or instances restart in it: export a plan in which instances join or leave alone"
    if returning_ids:
        yield f"instances leave and join in it ({', '.join(returning_ids)}): export a plan in which they do one of both"


def _reasons_of_events(events: Sequence[Event]) -> Iterator[str]:
    """Yield what happens in a scenario that no target file leads through, beyond what its plan shows."""
    if any(isinstance(event, Threads) for event in events):
        yield "an instance changes its number of threads in it: export a plan in which none does"


def _epoch_ms(time: str | None) -> int | None:
    return None if time is None else round(datetime.fromisoformat(time).timestamp() * 1000)


def _reason_of_age(captured_ms: int | None, request: ExportRequest) -> Iterator[str]:
    if captured_ms is None:
        yield "when its snapshot was taken is unknown: make the plan of one with captured_at"
    elif request.now_ms < captured_ms:
        yield f"its snapshot was taken later, at {format_time(captured_ms)}: give a later --set now"
    elif request.now_ms - captured_ms > request.max_snapshot_age_ms:
        age, most = request.now_ms - captured_ms, request.max_snapshot_age_ms
        yield f"its snapshot is {duration(age)} old, more than {duration(most)} (--max-snapshot-age)"


def _reasons_of_request(request: ExportRequest) -> Iterator[str]:
    if request.expires_in_ms > MAX_EXPIRES_MS:
        yield f"--set expires.in={duration(request.expires_in_ms)} is above {duration(MAX_EXPIRES_MS)}"
    if request.expires_in_ms <= request.probe_ms:
        expires_in, probe = duration(request.expires_in_ms), duration(request.probe_ms)
        yield f"--set expires.in={expires_in} ends before the first probe, after {probe}"


def _reasons_of_text(file: TargetFile) -> Iterator[str]:
    """Yield why a file cannot be written, or would not be read."""
    lines = target_text(file)
    text = lines.encode()
    if len(text) > MAX_TEXT_BYTES:
        yield f"the file has {len(text):,} bytes, more than the {MAX_TEXT_BYTES:,} that a ConfigMap has room for"
        return
    try:
        is_same = parse_target(text) == file
    except TargetRefused as refused:
        yield f"a name or value in it cannot be written: {refused}"
        return
    if not is_same or len(lines.splitlines()) > lines.count("\n"):  # YAML has other line ends besides
        yield "a name in it begins or ends with a blank, or has a line end"


def _remarks(source: Plan | Snapshot, *, slots: Sequence[Slot], times: bool = False) -> Remarks:
    """Return what may hurt, and what is assumed; ``times``: of a simulation without a restore rate."""
    assumed: tuple[Note, ...] = ()
    if _release(source) is None:
        message = "The release is unknown: Kafka Streams 3.8 or later is assumed, which the class needs"
        assumed += (Note("release-assumed", message),)
    if isinstance(source, Plan) and not source.pauses_from_start:
        message = (
            "Copies are assumed to be caught up at first: an earlier version saved the plan, and not what they lack"
        )
        assumed += (Note("lags-assumed", message),)
    return Remarks(warnings=(*_warnings(source, slots), *([_RATE_UNKNOWN] if times else [])), assumptions=assumed)


_RATE_UNKNOWN = Note(
    "restore-rate-unknown",
    "The restore rate is unknown: the time is that of rebalances alone, and the file may expire on the way (plan with "
    "--restore-rate)",
)


def _warnings(source: Plan | Snapshot, slots: Sequence[Slot]) -> Iterator[Note]:
    """Yield what the class in the application does otherwise than the settings say, and which names do not last."""
    config = source.config
    brief = [slot.name for slot in slots if _BRIEF.match(slot.match)]
    if brief:
        message = (
            "Process ids, and client ids unless client.id is set, change with an empty disk: who has another takes the "
            "slot with most of what it holds (--by tag:KEY, static or host lasts)"
        )
        yield Note("ids-change", message, tuple(brief))
    if config.rack_aware_assignment_strategy != "none":
        strategy = config.rack_aware_assignment_strategy
        message = f"rack.aware.assignment.strategy={strategy} does not count once the file has expired"
        yield Note("racks-do-not-count", message)
    if config.balance_factor != 1:
        factor = f"balance.factor={config.balance_factor}"
        message = f"{factor} does not count once the file has expired: tasks move to even shares"
        yield Note("balance-factor-does-not-count", message)


def _slots(
    group: Group,
    members: Iterable[Instance],
    holdings: Sequence[Holding],
    request: ExportRequest,
    newcomers: Iterable[str],
) -> tuple[tuple[Slot, ...], list[str]]:
    """Return a slot for every member, in order of their process ids, and why that cannot be."""
    ids = {member.process_id for member in members}
    slot_instances = [(place, instance) for place, instance in enumerate(group.instances) if instance.process_id in ids]
    slots: list[Slot] = []
    unnamed: list[str] = []
    new_ids = set(newcomers)
    for number, (place, instance) in enumerate(slot_instances, 1):
        is_new = instance.process_id in new_ids
        match = "new" if request.new_by_elimination and is_new else _match(instance, request.match_by, is_new=is_new)
        if match is None:
            hosts = [slot_instance.host for _, slot_instance in slot_instances]
            is_host_unique = instance.host is not None and hosts.count(instance.host) == 1
            unnamed.append(str(instance.host) if is_host_unique else instance.process_id)
        roles = [holdings[consumer] for consumer in group.consumers_of[place]]
        slots.append(
            Slot(
                name=f"s{number}",
                match=match or "new",
                active=_names(group, chain.from_iterable(role.active for role in roles)),
                standby=_names(group, chain.from_iterable(role.standby for role in roles)),
            )
        )
    advice = _other_way([instance for _, instance in slot_instances], new_ids, request)
    return tuple(slots), [*_reasons_of_slots(group, slots, unnamed, request, advice)]


def _other_way(instances: Sequence[Instance], new: set[str], request: ExportRequest) -> str:
    """Return which options would tell instances apart, as what to take."""
    tags = sorted({tag for instance in instances for tag, _ in instance.client_tags})
    old_instances = [instance for instance in instances if instance.process_id not in new]
    for candidates, option in ((instances, ""), (old_instances, " --new")):
        for way in (*(f"tag:{tag}" for tag in tags), *WAYS):
            matches = [_match(candidate, way, is_new=candidate.process_id in new) for candidate in candidates]
            is_other = way != request.match_by or (option and not request.new_by_elimination)
            if is_other and None not in matches and len(set(matches)) == len(matches):
                return f"--by {way}{option}"
    return "a client tag of their own (client.tag.pod=${HOSTNAME})"


def _reasons_of_slots(
    group: Group, slots: Sequence[Slot], unnamed: Sequence[str], request: ExportRequest, advice: str
) -> Iterator[str]:
    if unnamed:
        yield f"--by {request.match_by} does not name {', '.join(unnamed)}{_lack(request.match_by)}: give {advice}"
    matches = [slot.match for slot in slots if slot.match != "new"]
    duplicates = sorted({match for match in matches if matches.count(match) > 1})
    if duplicates:
        yield f"--by {request.match_by} does not tell members apart: {', '.join(duplicates)}: give {advice}"
    placed = [task for slot in slots for task in slot.active]
    unplaced = sorted(set(map(str, (task.task_id for task in group.tasks))) - set(placed))
    if unplaced:
        yield f"no instance runs {', '.join(unplaced[:5])}{' and more' if len(unplaced) > 5 else ''}"
    named_topology_tasks = [str(task.task_id) for task in group.tasks if "__" in str(task.task_id)]
    if named_topology_tasks:
        yield f"tasks of named topologies, as {named_topology_tasks[0]}, cannot be written"


def _lack(match_by: str) -> str:
    """Return what instances lack that a way to match does not name."""
    lacks = {"host": "HOST:PORT (application.server)", "static": "group.instance.id of a thread"}
    lack = f"client tag {match_by[4:]}" if match_by.startswith("tag:") else lacks.get(match_by)
    return "" if lack is None else f", for want of a known {lack}"


def _match(instance: Instance, match_by: str, *, is_new: bool) -> str | None:
    """Return what tells a member from others; ``None``: it has nothing of that kind that is known before it starts."""
    kind, _, key = match_by.partition(":")
    consumer = instance.consumers[0]
    value: str | None = None
    match kind:
        case "tag":
            value = dict(instance.client_tags).get(key)
            return None if value is None else f"tag:{key}={value}"
        case "static":
            name = _THREAD_OF_STATIC.fullmatch(consumer.group_instance_id or "")
            value = None if name is None else name[1]
        case _ if is_new:
            return None
        case "client":
            name = _THREAD.fullmatch(consumer.consumer_id)
            value = None if name is None else name[1]
        case "host":
            value = instance.host if instance.host and _HOST_AND_PORT.fullmatch(instance.host) else None
        case "process":
            value = instance.process_id
    return None if value is None else f"{kind}:{value}"


def _names(group: Group, tasks: Iterable[int]) -> tuple[str, ...]:
    return tuple(str(group.tasks[task].task_id) for task in sorted(tasks))


def _owners(file: TargetFile) -> Mapping[str, str]:
    return {task: slot.name for slot in file.slots for task in slot.active}


def _moving(plan: Plan, first_holdings: Sequence[Holding], last_holdings: Sequence[Holding]) -> Mapping[str, str]:
    """Return the stateful tasks that move, and the process id of the instance that runs each afterwards."""
    group = plan.group
    first, last = (
        {task: group.instance_of[consumer] for consumer, holding in enumerate(holdings) for task in holding.active}
        for holdings in (first_holdings, last_holdings)
    )
    return {
        str(group.tasks[task].task_id): group.instances[last[task]].process_id
        for task in group.stateful
        if first.get(task) != last[task]
    }


def _warm_up_order(plan: Plan) -> tuple[str, ...]:
    """Return the stateful tasks that move: in the order in which they warm up where they stay, then all others."""
    moving = _moving(plan, plan.initial, plan.final)
    placed, first_starts = dict[str, None](), dict[str, None]()
    for step in chain.from_iterable(rnd.single_steps for rnd in plan.rounds):
        if isinstance(step, Place | HandOver | Promote):
            name = str(step.task_id)
            if moving.get(name) == step.to.process_id:
                is_warmup = isinstance(step, Place) and step.to.role in (Role.WARMUP, Role.STANDBY)
                (placed if is_warmup else first_starts).setdefault(name)
    return tuple(dict.fromkeys([*placed, *first_starts]))


def _grouped(order: Sequence[str], owners: Mapping[str, str], warmups: int) -> tuple[str, ...]:
    """Return the tasks in batches for one instance each, no two in a row for the same one if that can be.

    A copy that warms up on an instance which neither gives nor gets a task in a rebalance is seen at the next one.
    """
    remaining, grouped, last = [*order], list[str](), None
    while remaining:
        targets = dict.fromkeys(owners[task] for task in remaining)
        target = next((name for name in targets if name != last), last)
        batch = [task for task in remaining if owners[task] == target][:warmups]
        grouped += batch
        remaining = [task for task in remaining if task not in batch]
        last = target
    return tuple(grouped)


def _simulate_file(plan: Plan, file: TargetFile, beginning: _Beginning, request: ExportRequest) -> Plan:
    """Return what follows with a target file, which does not expire, from where a plan begins or ends."""
    group, limit = plan.group, plan.config.acceptable_recovery_lag
    members = [instance for instance in group.instances if instance.process_id in beginning.process_ids]
    small = Group.of(group.application_id, list(group.tasks), members)
    holdings_by_seat = dict(zip(group.consumer_index, beginning.holdings, strict=True))
    holdings = tuple(holdings_by_seat[seat] for seat in small.consumer_index)
    records_behind = {(copy.task_id, copy.process_id): copy.records for copy in beginning.copies_behind}
    copies: list[list[Copy]] = [[] for _ in small.tasks]
    for consumer, holding in enumerate(holdings):
        place = small.instance_of[consumer]
        for task in (*holding.active, *holding.standby, *holding.warmup, *holding.temporary):
            runs = task in holding.active
            to_restore = records_behind.get((small.tasks[task].task_id, small.instances[place].process_id))
            lag = LATEST if runs else 0
            if to_restore is not None:
                lag = to_restore if to_restore > limit else UNKNOWN
            copies[task].append(Copy(place, lag, (consumer,), to_restore or 0, consumer, runs))
    restore, produce = plan.rates
    snapshot = Snapshot(
        state=GroupState(
            group=small,
            generation=plan.generation,
            at_ms=0,
            holdings=holdings,
            copies=tuple(
                tuple(sorted(task_copies)) if small.stateful_flags[t] else () for t, task_copies in enumerate(copies)
            ),
        ),
        config=plan.config,
        captured_at=format_time(request.now_ms),
        rates=Rates(
            restore_per_instance=None if restore is None else restore.median,
            produce_per_task=None if produce is None else produce.median,
        ),
    )
    options = PlanOptions(
        assignor=FOLLOWS_A_FILE,
        protocol=plan.protocol,
        target=target_text(replace(file, expires_ms=request.now_ms + MAX_EXPIRES_MS)).encode(),
        floor=False,
        proofs="none",
    )
    events = beginning.events
    return plan_of(snapshot, options, scenario=Scenario(events=events) if events else None)


def _events(plan: Plan) -> Iterator[Event]:
    """Yield who joins and who leaves in a plan, when its group noticed it, from the first decision on."""
    group = plan.group
    for rnd in plan.rounds:
        joined_ids = [step.process_id for step in rnd.member_steps if isinstance(step, MemberJoined)]
        left_ids = [step.process_id for step in rnd.member_steps if isinstance(step, MemberLeft)]
        if joined_ids:
            instances = tuple(group.instances[group.instance_index[process_id]] for process_id in joined_ids)
            yield Join(at_ms=rnd.at_ms - _first_ms(plan), instances=instances)
        if left_ids:
            yield Leave(at_ms=rnd.at_ms - _first_ms(plan), process_ids=tuple(left_ids))


def _rate_events(plan: Plan, events: Sequence[Event]) -> Iterator[Event]:
    """Yield what changes rates in a scenario, and what is written at once from the first decision on."""
    for event in events:
        if isinstance(event, _RATES):
            at_ms = event.at_ms - _first_ms(plan)
            if at_ms >= 0 or not isinstance(event, Burst):
                yield replace(event, at_ms=max(0, at_ms))


def _first_ms(plan: Plan) -> int:
    """Return when the first decision of a plan comes, where its simulation with a file begins."""
    return plan.rounds[0].at_ms if plan.rounds else 0
