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
from kstream_plan.model.scenario import Event, Join, Leave, Scenario
from kstream_plan.model.times import duration, format_time
from kstream_plan.planner.options import PlanOptions
from kstream_plan.plans import HandOver, MemberJoined, MemberLeft, Place, Plan, Promote, Role
from kstream_plan.simulation.one_plan import plan as plan_of

#: A ConfigMap has room for 1 MiB with all that is around the file.
MAX_TEXT_BYTES = 900_000
MAX_EXPIRES_MS = 24 * 3_600_000
#: The ways to tell members apart, but for ``tag:KEY``.
WAYS = ("static", "host", "client", "process")

_THREAD = re.compile(r"(.+)-StreamThread-[0-9]+.*", re.DOTALL)
_THREAD_OF_STATIC = re.compile(r"(.+)-[0-9]+", re.DOTALL)
_HOST_AND_PORT = re.compile(r".+:[0-9]+", re.DOTALL)


class ExportRefusedError(KstreamPlanError):
    """A plan cannot be exported; ``reasons`` are all there are, numbered if there are several."""

    exit_code = 3

    def __init__(self, reasons: Sequence[str], *, where: str) -> None:
        numbered = reasons if len(reasons) == 1 else [f"{number}. {what}" for number, what in enumerate(reasons, 1)]
        super().__init__("; ".join(numbered), where=where)
        self.reasons = tuple(numbered)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest:
    """How a target file is to be made.

    ``plan_id`` is the SHA-256 of the plan's file; ``by`` tells members apart: ``tag:KEY`` or one of :data:`WAYS`;
    ``new_by_elimination``: members that join take the slots that nobody else matches; ``expires_in_ms`` counts from
    ``now_ms``, since 1970; ``warmups``: ``None``: as many as the plan's settings say.
    """

    plan_id: str
    by: str
    now_ms: int
    expires_in_ms: int
    probe_ms: int
    warmups: int | None = None
    new_by_elimination: bool = False
    max_snapshot_age_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """A target file, and what it leads to.

    ``simulated`` is the plan with this file; ``None``: nothing moves by it. ``is_grouped``: the tasks warm up in
    batches for one instance after another.
    """

    file: TargetFile
    simulated: Plan | None
    is_grouped: bool
    warnings: tuple[Note, ...]

    @property
    def text(self) -> str:
        """The file as it is written."""
        return target_text(self.file)


def export_plan(plan: Plan, request: ExportRequest, where: str) -> Export:
    """Return the target file that leads a group to the end of a plan.

    Raises:
        ExportRefusedError: the plan, or what is asked for, does not do.
    """
    group = plan.group
    members = [group.instances[group.instance_index[process_id]] for process_id, _ in plan.members]
    newcomers = {step.process_id for rnd in plan.rounds for step in rnd.member_steps if isinstance(step, MemberJoined)}
    slots, wrong = _slots(group, members, plan.final, request, newcomers)
    lasting = [*_reasons_of_plan(plan), *wrong]
    reasons = [*lasting, *_reason_of_age(_epoch_ms(plan.captured_at), request), *_reasons_of_request(request)]
    draft = _file(plan, slots, request)
    order = _warm_up_order(plan)
    simulated = None if lasting else _fastest(plan, draft, order, request)
    if simulated is not None:
        draft = replace(draft, order=simulated.order)
        reasons += [*_reasons_of_simulation(plan, simulated.plan, request), *_reasons_of_text(draft)]
    if reasons or simulated is None:
        raise ExportRefusedError(reasons, where=where)
    return Export(
        file=draft,
        simulated=simulated.plan,
        is_grouped=draft.order != order,
        warnings=(*_warnings(plan), *_warnings_of_time(plan)),
    )


class _Simulated(NamedTuple):
    """A plan by a target file, and the order of warm-ups in that."""

    plan: Plan
    order: tuple[str, ...]


def _fastest(plan: Plan, draft: TargetFile, order: tuple[str, ...], request: ExportRequest) -> _Simulated:
    """Simulate with both orders: in batches, and as the plan has it; the first of those that take as long."""
    orders = dict.fromkeys([_grouped(order, _owners(draft), draft.warmups), order])
    tried = [_Simulated(_simulated(plan, replace(draft, order=tasks), request), tasks) for tasks in orders]
    return min(tried, key=lambda one: (one.plan.verdict.kind != "settled", one.plan.summary.duration_ms))


def _reasons_of_simulation(plan: Plan, simulated: Plan, request: ExportRequest) -> Iterator[str]:
    if simulated.verdict.kind != "settled":
        yield "simulated with this file, the group does not settle"
        return
    refusals = [rnd.follows.refusal for rnd in simulated.rounds if rnd.follows is not None and rnd.follows.refusal]
    if refusals:
        yield (
            f"simulated with it, {len(refusals)} of {len(simulated.rounds)} rebalances are decided without the file "
            f"({refusals[0]}): export a plan in which all who leave have left before others join"
        )
    if plan.summary.cold_handovers:
        number = plan.summary.cold_handovers
        yield f"{number} {'task starts' if number == 1 else 'tasks start'} cold in it, for which nothing waits"
    needed_ms = 2 * simulated.summary.duration_ms
    if request.expires_in_ms < needed_ms:
        given = duration(request.expires_in_ms)
        yield f"--expires-in {given} is below {duration(needed_ms)}, twice the simulated time"


def export_back(plan: Plan, request: ExportRequest, where: str) -> Export:
    """Return the target file that leads a group back to where a plan began; who joined in it gets nothing.

    Raises:
        ExportRefusedError: the plan, or what is asked for, does not do.
    """
    joined = {step.process_id for rnd in plan.rounds for step in rnd.member_steps if isinstance(step, MemberJoined)}
    slots, wrong = _slots(plan.group, plan.group.instances, plan.initial, request, joined)
    reasons = [*_reasons_of_group(plan), *_reasons_of_request(request), *wrong]
    return _unsimulated(plan, slots, request, reasons, where)


def export_stay(snapshot: Snapshot, request: ExportRequest, where: str) -> Export:
    """Return the target file that keeps every task where it runs now: a brake.

    Raises:
        ExportRefusedError: the group, or what is asked for, does not do.
    """
    group = snapshot.state.group
    age = _reason_of_age(snapshot.captured_at_ms, request)
    slots, wrong = _slots(group, group.instances, _without_warm_ups(snapshot), request, set())
    reasons = [*age, *_reasons_of_request(request), *wrong]
    return _unsimulated(snapshot, slots, request, reasons, where)


def _without_warm_ups(snapshot: Snapshot) -> list[Holding]:
    """Return what is assigned without copies beside the wanted ones: of a task those stay that are least behind.

    A log may not tell how many are wanted: then it is as many as every task has.
    """
    group = snapshot.state.group
    lags = [{copy.instance: copy.lag for copy in of_task} for of_task in snapshot.state.copies]

    def behind(task: int, consumer: int) -> tuple[float, str]:
        instance = group.instance_of[consumer]
        lag = lags[task].get(instance, UNKNOWN)
        return inf if lag is None or lag == UNKNOWN else lag, group.instances[instance].process_id

    holders = dict[int, list[int]]()
    for consumer, holding in enumerate(snapshot.assigned):
        for task in holding.standby:
            holders.setdefault(task, []).append(consumer)
    fewest = min((len(holders.get(task, ())) for task in group.stateful), default=0)
    wanted = max(snapshot.config.num_standby_replicas, fewest)
    kept = {
        (task, consumer)
        for task, consumers in holders.items()
        for consumer in sorted(consumers, key=partial(behind, task))[:wanted]
    }
    return [
        holding._replace(standby=tuple(task for task in holding.standby if (task, consumer) in kept))
        for consumer, holding in enumerate(snapshot.assigned)
    ]


def _unsimulated(
    source: Plan | Snapshot, slots: tuple[Slot, ...], request: ExportRequest, reasons: Sequence[str], where: str
) -> Export:
    file = _file(source, slots, request)
    found = [*reasons, *([] if reasons else _reasons_of_text(file))]
    if found:
        raise ExportRefusedError(found, where=where)
    return Export(file=file, simulated=None, is_grouped=False, warnings=tuple(_warnings(source)))


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


def _reasons_of_plan(plan: Plan) -> Iterator[str]:
    """Yield why a plan cannot be run."""
    yield from _reasons_of_group(plan)
    if plan.verdict.kind != "settled":
        yield f"it does not settle: {plan.verdict.kind}"
    kinds: dict[str, set[type]] = {}
    for step in chain.from_iterable(rnd.member_steps for rnd in plan.rounds):
        kinds.setdefault(step.process_id, set()).add(type(step))
    back = sorted(process_id for process_id, steps in kinds.items() if len(steps) > 1)
    if plan.later_configs or plan.outages:
        yield "settings change or instances restart in it: export a plan in which instances join or leave alone"
    if back:
        yield f"instances leave and join in it ({', '.join(back)}): export a plan in which they do one of both"


def _epoch_ms(time: str | None) -> int | None:
    return None if time is None else round(datetime.fromisoformat(time).timestamp() * 1000)


def _reason_of_age(captured_ms: int | None, request: ExportRequest) -> Iterator[str]:
    if captured_ms is None:
        yield "when its snapshot was taken is unknown"
    elif request.now_ms < captured_ms:
        yield f"its snapshot was taken later, at {format_time(captured_ms)}: give a later --now"
    elif request.now_ms - captured_ms > request.max_snapshot_age_ms:
        age, most = request.now_ms - captured_ms, request.max_snapshot_age_ms
        yield f"its snapshot is {duration(age)} old, more than {duration(most)} (--max-snapshot-age)"


def _reasons_of_request(request: ExportRequest) -> Iterator[str]:
    if request.expires_in_ms > MAX_EXPIRES_MS:
        yield f"--expires-in {duration(request.expires_in_ms)} is above {duration(MAX_EXPIRES_MS)}"
    if request.expires_in_ms <= request.probe_ms:
        given, probe = duration(request.expires_in_ms), duration(request.probe_ms)
        yield f"--expires-in {given} ends before the first probe, after {probe}"


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


def _warnings_of_time(plan: Plan) -> Iterator[Note]:
    """Yield what is unknown of how long a plan takes."""
    if plan.rates[0] is None:
        message = (
            "The restore rate is unknown: the time is that of rebalances alone, and the file may expire on the way "
            "(plan with --restore-rate)"
        )
        yield Note("restore-rate-unknown", message)


def _warnings(source: Plan | Snapshot) -> Iterator[Note]:
    """Yield what the class in the application does otherwise than the settings say."""
    config = source.config
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
    held: Sequence[Holding],
    request: ExportRequest,
    newcomers: Iterable[str],
) -> tuple[tuple[Slot, ...], list[str]]:
    """Return a slot for every member, in order of their process ids, and why that cannot be."""
    ids = {member.process_id for member in members}
    ordered = [(place, instance) for place, instance in enumerate(group.instances) if instance.process_id in ids]
    slots: list[Slot] = []
    unnamed: list[str] = []
    new = set(newcomers)
    for number, (place, instance) in enumerate(ordered, 1):
        is_new = instance.process_id in new
        match = "new" if request.new_by_elimination and is_new else _match(instance, request.by, is_new=is_new)
        if match is None:
            hosts = [other.host for _, other in ordered]
            is_host_unique = instance.host is not None and hosts.count(instance.host) == 1
            unnamed.append(str(instance.host) if is_host_unique else instance.process_id)
        roles = [held[consumer] for consumer in group.consumers_of[place]]
        slots.append(
            Slot(
                name=f"s{number}",
                match=match or "new",
                active=_names(group, chain.from_iterable(role.active for role in roles)),
                standby=_names(group, chain.from_iterable(role.standby for role in roles)),
            )
        )
    return tuple(slots), [*_reasons_of_slots(group, slots, unnamed, request)]


def _reasons_of_slots(
    group: Group, slots: Sequence[Slot], unnamed: Sequence[str], request: ExportRequest
) -> Iterator[str]:
    if unnamed:
        what = f"--by {request.by} does not name {', '.join(unnamed)}"
        yield f"{what}: take another --by, or --new if they join and others do not"
    matches = [slot.match for slot in slots if slot.match != "new"]
    twice = sorted({match for match in matches if matches.count(match) > 1})
    if twice:
        yield f"--by {request.by} does not tell members apart: {', '.join(twice)}"
    placed = [task for slot in slots for task in slot.active]
    missing = sorted(set(map(str, (task.task_id for task in group.tasks))) - set(placed))
    if missing:
        yield f"no instance runs {', '.join(missing[:5])}{' and more' if len(missing) > 5 else ''}"
    named = [str(task.task_id) for task in group.tasks if "__" in str(task.task_id)]
    if named:
        yield f"tasks of named topologies, as {named[0]}, cannot be written"


def _match(instance: Instance, by: str, *, is_new: bool) -> str | None:
    """Return what tells a member from others; ``None``: it has nothing of that kind that is known before it starts."""
    kind, _, key = by.partition(":")
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


def _warm_up_order(plan: Plan) -> tuple[str, ...]:
    """Return the stateful tasks that move: in the order in which they warm up where they stay, then all others."""
    group = plan.group
    home = {task: group.instance_of[consumer] for consumer, held in enumerate(plan.final) for task in held.active}
    first = {task: group.instance_of[consumer] for consumer, held in enumerate(plan.initial) for task in held.active}
    moving = {
        str(group.tasks[task].task_id): group.instances[home[task]].process_id
        for task in group.stateful
        if first.get(task) != home[task]
    }
    placed, started = dict[str, None](), dict[str, None]()
    for step in chain.from_iterable(rnd.single_steps for rnd in plan.rounds):
        if isinstance(step, Place | HandOver | Promote):
            name = str(step.task_id)
            if moving.get(name) == step.to.process_id:
                is_warmup = isinstance(step, Place) and step.to.role in (Role.WARMUP, Role.STANDBY)
                (placed if is_warmup else started).setdefault(name)
    return tuple(dict.fromkeys([*placed, *started]))


def _grouped(order: Sequence[str], owners: Mapping[str, str], warmups: int) -> tuple[str, ...]:
    """Return the tasks in batches for one instance each, no two in a row for the same one if that can be.

    A copy that warms up on an instance which neither gives nor gets a task in a rebalance is seen at the next one.
    """
    rest, grouped, last = [*order], list[str](), None
    while rest:
        targets = dict.fromkeys(owners[task] for task in rest)
        target = next((name for name in targets if name != last), last)
        batch = [task for task in rest if owners[task] == target][:warmups]
        grouped += batch
        rest = [task for task in rest if task not in batch]
        last = target
    return tuple(grouped)


def _simulated(plan: Plan, file: TargetFile, request: ExportRequest) -> Plan:
    """Return what follows with a target file, which does not expire, from where a plan began, its copies whole."""
    group = plan.group
    first = set(plan.first_members)
    members = [instance for instance in group.instances if instance.process_id in first]
    small = Group.of(group.application_id, list(group.tasks), members)
    known = dict(zip(group.consumer_index, plan.initial, strict=True))
    holdings = tuple(known[seat] for seat in small.consumer_index)
    copies: list[list[Copy]] = [[] for _ in small.tasks]
    for consumer, held in enumerate(holdings):
        place = small.instance_of[consumer]
        for task in held.active:
            copies[task].append(Copy(place, LATEST, (consumer,), 0, consumer, True))
        for task in held.standby:
            copies[task].append(Copy(place, 0, (consumer,), 0, consumer))
    restore, produce = plan.rates
    snapshot = Snapshot(
        state=GroupState(
            group=small,
            generation=plan.generation,
            at_ms=0,
            holdings=holdings,
            copies=tuple(tuple(sorted(of)) if small.stateful_flags[t] else () for t, of in enumerate(copies)),
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
        ranges=False,
        floor=False,
        proofs="none",
    )
    events = tuple(_events(plan))
    return plan_of(snapshot, options, scenario=Scenario(events=events) if events else None)


def _events(plan: Plan) -> Iterator[Event]:
    """Yield who joins and who leaves in a plan, when its group noticed it."""
    group = plan.group
    for rnd in plan.rounds:
        joined = [step.process_id for step in rnd.member_steps if isinstance(step, MemberJoined)]
        left = [step.process_id for step in rnd.member_steps if isinstance(step, MemberLeft)]
        if joined:
            instances = tuple(group.instances[group.instance_index[process_id]] for process_id in joined)
            yield Join(at_ms=rnd.at_ms, instances=instances)
        if left:
            yield Leave(at_ms=rnd.at_ms, process_ids=tuple(left))
