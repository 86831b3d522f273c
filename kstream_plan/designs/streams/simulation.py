"""A streams group through one plan: heartbeat by heartbeat, where a member hears anything new."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from kstream_plan.designs.streams.beats import Beats, Pace, spread_beats
from kstream_plan.designs.streams.cold_starts import ColdStarts, RateOf
from kstream_plan.designs.streams.coordinator import GroupCoordinator, StreamsSettings
from kstream_plan.designs.streams.copies import ChangingTasks, advance_copies, copies_after_change
from kstream_plan.designs.streams.holdings import (
    TargetHoldings,
    as_holding,
    owned_by,
    pending,
    revoking_tasks,
    target_holdings,
    with_pending,
)
from kstream_plan.designs.streams.memory import StreamsMemory, consumer_of, is_stable, memory_of
from kstream_plan.designs.streams.reconciliation import MemberState, Owned
from kstream_plan.designs.streams.silence import (
    FencedMember,
    fencing_verdict,
    silent_members,
    still_silent,
    unending_verdict,
)
from kstream_plan.designs.streams.start import Start, broker_of, with_pending_reports
from kstream_plan.designs.streams.steps import HoldingChange, LastOwners, seat, steps_of, withhold_steps
from kstream_plan.model import Group, GroupState, Holding, Holdings, Rates, WorkId
from kstream_plan.model.settings import MAX_LONG, AssignmentConfig
from kstream_plan.model.streams_group import BROKER_VERSIONS
from kstream_plan.plans import Phase, Reason, ReasonCode, Step, Trigger, Verdict
from kstream_plan.plans.design import Ahead, Conclusion, Coordinator, Interval, NextRebalance, Rebalance
from kstream_plan.plans.membership import MembershipChange
from kstream_plan.plans.steps import Demote, Drop, HandOver, Promote, Revoke, ThreadMove

_NOTHING = Owned(frozenset(), frozenset())
#: The number of heartbeats that an instance may miss while its stop is unnoticed.
_LONGEST_SILENCE = 100


class StreamsCoordinator(Coordinator[Rebalance]):
    """Simulates the heartbeats of one group; see the module."""

    waits_for_all = False

    def __init__(self, config: AssignmentConfig, pace: Pace, *, in_memory: bool = False, draw: int = 0) -> None:
        self._config = config
        self._pace = pace
        self._draw = draw
        self._in_memory = in_memory
        self._cold = ColdStarts()
        self._changing_tasks = ChangingTasks()
        self._target: TargetHoldings | None = None
        self._number: list[int] | None = None
        self._age_ms: int | None = None

    def resume(self, state: GroupState) -> Rebalance | None:
        """Return the rebalance before the plan, if some member has not reached its target yet."""
        memory = self._initial_memory(state)
        if memory.computes_at_ms == 0 or is_stable(memory.broker):
            return None
        rebalance = self._rebalance(
            replace(state, at_ms=0, memory=self._with_next_heartbeats(memory, state.group, 0, ())), 0, ()
        )
        return replace(rebalance, held=with_pending(state, memory.broker, self._numbers(state.group, memory.broker)))

    def advance_to_now(self, state: GroupState, interval: Interval) -> GroupState:
        """Let copies restore and fall behind that were reported before now."""
        start = state.memory
        assert isinstance(start, Start)
        reported_in = {
            seat: at_ms - interval.from_ms for seat, at_ms in start.reported_ms.items() if at_ms > interval.from_ms
        }
        restored_state = self._later(state, interval, reported_in)
        return replace(restored_state, at_ms=0, memory=self._initial_memory(state))

    def rebalance(self, state: GroupState, at_ms: int, _trigger: Trigger, members: tuple[Step, ...]) -> Rebalance:
        """Take the heartbeats of members that join now, or the one that is due."""
        memory = memory_of(state)
        overdue_member = next((member_id for member_id, fenced_ms in memory.fences.items() if fenced_ms <= at_ms), None)
        if overdue_member is not None and not memory.joining_members:
            return self._fence(state, overdue_member, at_ms, members)
        broker, beats = memory.broker.copied(), dict(memory.beats)
        epoch, speakers = broker.target_epoch, list[str]()
        for member_id, process_id, offsets in memory.joining_members:
            beats[member_id] = Beats(phase_ms=at_ms % self._config.heartbeat_interval_ms)
            if broker.join(at_ms, member_id, process_id, dict(offsets)).member.holds != _NOTHING:
                beats[member_id] = beats[member_id].after_assignment(at_ms)
            speakers.append(member_id)
        speaker = "" if memory.joining_members else self._speaker(memory, at_ms)
        if speaker:
            owned = broker.members[speaker].holds if beats[speaker].reports_tasks(at_ms) else None
            tells = broker.heartbeat(at_ms, speaker, owned).tells
            beats[speaker] = beats[speaker].after_heartbeat(at_ms)
            beats[speaker] = beats[speaker].after_assignment(at_ms) if tells else beats[speaker]
            speakers.append(speaker)
        computed = broker.target_epoch > epoch
        new_holdings = [
            (consumer_of(state.group, broker, member_id), self._holding(state.group, broker, member_id))
            for member_id in speakers
        ]
        state, steps, owners = self._apply_holdings(state, new_holdings, at_ms, memory.owners)
        begins = memory.begins and broker.group_epoch == broker.target_epoch
        if computed or begins:
            owner_by_task = {
                task: consumer for consumer, holding in enumerate(state.holdings) for task in holding.active
            }
            unconfirmed_tasks = (
                owned_by(state, broker, self._numbers(state.group, broker)).keys() - owner_by_task.keys()
            )
            steps += withhold_steps(
                state, owner_by_task.get, self._target_of(state.group, broker).owners, owners, unconfirmed_tasks
            )
        steps = [*memory.unreported_steps, *steps]
        silent = not computed and not (begins and steps) and (not speaker or not (steps or is_stable(broker)))
        unreported_steps = memory.unreported_steps if silent else ()
        next_memory = replace(
            memory,
            broker=broker,
            beats=beats,
            joining_members=(),
            owners=owners,
            unreported_steps=unreported_steps,
            begins=False,
        )
        state = replace(state, memory=self._with_next_heartbeats(next_memory, state.group, at_ms, speakers))
        rebalance = self._rebalance(state, at_ms, (*members, *steps))
        if computed or begins:
            return rebalance
        return replace(
            rebalance, member=self._seat_of(state, speaker or speakers[0]) if speakers else None, silent=silent
        )

    def _fence(self, state: GroupState, member_id: str, at_ms: int, members: tuple[Step, ...]) -> Rebalance:
        """Fence a silent member, with all that it holds."""
        memory = memory_of(state)
        broker, beats = memory.broker.copied(), dict(memory.beats)
        consumer = consumer_of(state.group, broker, member_id)
        process_id, _, _ = seat(state, consumer)
        fenced_member = FencedMember(
            member_id,
            process_id,
            at_ms,
            revoking_tasks(state, broker, self._numbers(state.group, broker), member_id),
            len(broker.members[member_id].active),
        )
        broker.leave(at_ms, member_id)
        del beats[member_id]
        state, steps, owners = self._apply_holdings(state, [(consumer, Holding())], at_ms, memory.owners)
        reason = Reason(ReasonCode.THREAD_STOPPED)
        revocations = (replace(step, reason=reason) for step in steps if isinstance(step, Revoke | Drop))
        next_memory = replace(
            memory,
            broker=broker,
            beats=beats,
            owners=owners,
            trigger=Trigger.LEAVE,
            silent=still_silent(memory.silent, broker.members),
            fenced_members=(*memory.fenced_members, fenced_member),
            unreported_steps=(*memory.unreported_steps, *revocations),
        )
        state = replace(state, memory=self._with_next_heartbeats(next_memory, state.group, at_ms, ()))
        return replace(self._rebalance(state, at_ms, members), silent=True)

    def changes_nothing(self, rebalance: Rebalance) -> bool:
        """Tell whether all members hold the target, and no other target is wanted."""
        broker = memory_of(rebalance.state).broker
        if broker.group_epoch > broker.target_epoch:
            return False
        holdings = {
            member_id: (frozenset(member.active), member.standby) for member_id, member in broker.members.items()
        }
        return not rebalance.steps and all(
            holdings[member_id] == (target.active, target.standby) for member_id, target in broker.targets.items()
        )

    def next_rebalance(self, rebalance: Rebalance, ahead: Ahead) -> NextRebalance | None:
        """Return the next heartbeat at which a member hears something new, or a target is computed."""
        memory, group, interval_ms = (
            memory_of(rebalance.state),
            rebalance.state.group,
            self._config.heartbeat_interval_ms,
        )
        if memory.begins and memory.computes_at_ms is None:
            return NextRebalance(rebalance.at_ms, Trigger.FOLLOW_UP)

        def running_at(member_id: str, at_ms: int) -> int:
            at_ms = max(at_ms, rebalance.at_ms)
            instance = group.instance_index[memory.broker.members[member_id].process_id]
            for _ in range(_LONGEST_SILENCE):
                if instance not in ahead(at_ms + 1)[-1].stopped_instances:
                    break
                at_ms += interval_ms
            return at_ms

        hears = [
            running_at(member_id, beats.hears_at_ms)
            for member_id, beats in memory.beats.items()
            if beats.hears_at_ms is not None
        ]
        fences = [max(rebalance.at_ms, fenced_ms) for fenced_ms in memory.fences.values()]
        if memory.computes_at_ms is None:
            return NextRebalance(min([*hears, *fences]), Trigger.FOLLOW_UP, of_member=True) if hears or fences else None
        speaks = [running_at(member_id, self._speaks_ms(memory, member_id)) for member_id in memory.beats]
        due_ms, fence_ms = min([*hears, *speaks]), min(fences, default=None)
        if fence_ms is not None and fence_ms <= due_ms:
            return NextRebalance(fence_ms, memory.trigger, of_member=True)
        return NextRebalance(due_ms, memory.trigger)

    def advance(self, rebalance: Rebalance, interval: Interval) -> GroupState:
        """Return the group as the next rebalance finds it."""
        at_ms = interval.from_ms
        for span in interval.spans:
            rate_of = _rate_of(rebalance.state.group, span.rates, span.stopped_instances)
            self._cold.restore(at_ms, at_ms + span.elapsed_ms, rate_of)
            at_ms += span.elapsed_ms
        group, stopped_instances = rebalance.state.group, interval.spans[-1].stopped_instances
        memory = replace(
            memory_of(rebalance.state),
            stopped_process_ids=tuple(group.instances[i].process_id for i in sorted(stopped_instances)),
        )
        state = replace(rebalance.state, generation=rebalance.generation, at_ms=rebalance.at_ms, memory=memory)
        return self._later(state, interval, {})

    def _later(self, state: GroupState, interval: Interval, reported_in: Mapping[tuple[int, int], int]) -> GroupState:
        """Return the group after a time, with its copies as they are then."""
        cleanup_ms = self._config.state_cleanup_delay_ms
        return advance_copies(state, interval.spans, interval.to_ms, cleanup_ms, reported_in, self._changing_tasks)

    def apply_change(self, state: GroupState, taking: MembershipChange) -> tuple[GroupState, Sequence[Step]]:
        """Remove members, and remember who is to join; settings count from now."""
        next_state, steps = super().apply_change(state, taking)
        memory, change = memory_of(state), taking.change
        broker, beats = memory.broker.copied(), dict(memory.beats)
        departed_process_ids = {departure.process_id for departure in change.departures}
        stay = {member_id for member_id, process in _members(taking.group) if process not in departed_process_ids}
        for member_id in [member_id for member_id in broker.table.order() if member_id not in stay]:
            broker.leave(taking.at_ms, member_id)
            del beats[member_id]
        for process_id in sorted(departed_process_ids):
            self._cold.leave(process_id)
        if change.settings:
            previous_standbys = broker.settings.num_standby_replicas
            broker.settings = broker_settings(taking.config, memory.broker_version)
            self._config = taking.config
            if previous_standbys != broker.settings.num_standby_replicas:
                broker.ask()
        back = {arrival.instance.process_id for arrival in change.arrivals}
        away = {member.member_id for member in memory.fenced_members if member.process_id not in back}
        joining_members = tuple(
            (member_id, process, _brought(next_state, process, broker))
            for member_id, process in _members(taking.group)
            if member_id not in beats and member_id not in away
        )
        silent = still_silent(memory.silent, broker.members)
        unreported_steps = tuple(
            step for step in memory.unreported_steps if step.from_.process_id not in departed_process_ids
        )
        next_memory = replace(
            memory,
            broker=broker,
            beats=beats,
            joining_members=joining_members,
            trigger=change.trigger,
            silent=silent,
            unreported_steps=unreported_steps,
        )
        return replace(next_state, memory=next_memory), steps

    def pending_work(self, rebalance: Rebalance) -> tuple[WorkId, ...]:
        """Return the tasks that do not run on their target yet."""
        pairs = zip(rebalance.decided, rebalance.held, strict=True)
        waiting_tasks = {
            task
            for decided_holding, current_holding in pairs
            for task in {*decided_holding.active} - {*current_holding.active}
        }
        return tuple(rebalance.state.group.tasks[task].task_id for task in sorted(waiting_tasks))

    def conclude(self, rebalance: Rebalance, verdict: Verdict, rates: Rates) -> Conclusion:
        """Return when all tasks run, as far as that is known."""
        self._cold.ended(rebalance.at_ms, _rate_of(rebalance.state.group, rates, frozenset()))
        memory = memory_of(rebalance.state)
        waiting_members = [
            member_id for member_id, member in memory.broker.members.items() if member.state is not MemberState.STABLE
        ]
        if verdict.kind == "settled" and waiting_members:
            verdict = Verdict(
                "stuck",
                self.pending_work(rebalance),
                f"{', '.join(waiting_members)}: waiting, and no report of a member ends that",
            )
        if verdict.kind != "unfinished":
            verdict = self._silenced(rebalance) or verdict
        times_known, ends = self._cold.times_known, verdict.is_over or verdict.kind == "settled"
        return Conclusion(
            verdict,
            max_cold_ms=self._cold.max_ms if times_known or not self._cold.any_cold else None,
            runs_by_ms=max(rebalance.at_ms, self._cold.run_by_ms) if times_known and ends else None,
            follows_restores=True,
        )

    def _silenced(self, rebalance: Rebalance) -> Verdict | None:
        """Return the verdict with silent members: one fenced at an unknown time, or one that was fenced."""
        memory, state = memory_of(rebalance.state), rebalance.state
        for member_id, fenced_ms in memory.silent.items():
            member = memory.broker.members[member_id]
            tasks = revoking_tasks(state, memory.broker, self._numbers(state.group, memory.broker), member_id)
            if tasks := tasks or self.pending_work(rebalance):
                return unending_verdict(member, self._age_ms, tasks, self._config, is_last_member=fenced_ms is not None)
        fenced_member = next((member for member in memory.fenced_members if member.task_ids), None)
        return None if fenced_member is None else fencing_verdict(fenced_member, self._age_ms, self._config)

    def _initial_memory(self, state: GroupState) -> StreamsMemory:
        """Return the group's memory when the plan begins."""
        start = state.memory
        assert isinstance(start, Start)
        broker = broker_of(start.group, state, broker_settings(self._config, start.group.broker_version))
        computes_now = start.asks_now and is_stable(broker)
        if computes_now:
            broker.ask()
        members = [member.member_id for member in start.group.members]
        new_members = [member for member in _members(state.group) if member[0] not in broker.members]
        interval_ms = self._config.heartbeat_interval_ms
        beats = spread_beats(members, interval_ms, from_now=computes_now, draw=self._draw)
        silent = silent_members(start.group, self._config, self._pace)
        self._age_ms = start.group.target_age_ms
        return StreamsMemory(
            broker_version=start.group.broker_version,
            broker=broker,
            beats=with_pending_reports(beats, broker, silent),
            owners={
                task: seat(state, consumer)
                for task, consumer in owned_by(state, broker, self._numbers(state.group, broker)).items()
            },
            joining_members=tuple(
                (member_id, process_id, _brought(state, process_id, broker)) for member_id, process_id in new_members
            ),
            trigger=Trigger.JOIN if new_members else Trigger.MANUAL,
            silent=silent,
            begins=not computes_now and not is_stable(broker),
            unreported_steps=tuple(pending(state, broker, self._numbers(state.group, broker))),
            computes_at_ms=0 if computes_now else None,
        )

    def _speaker(self, memory: StreamsMemory, at_ms: int) -> str:
        """Return the member whose heartbeat is due now; none: empty."""
        running = [
            member_id
            for member_id in memory.beats
            if memory.broker.members[member_id].process_id not in memory.stopped_process_ids
        ]
        heartbeats = [
            (hears_ms, member_id)
            for member_id in running
            if (hears_ms := memory.beats[member_id].hears_at_ms) is not None
        ]
        if memory.computes_at_ms is not None:
            heartbeats += [(self._speaks_ms(memory, member_id), member_id) for member_id in running]
        due_heartbeats = [heartbeat for heartbeat in heartbeats if heartbeat[0] <= at_ms]
        if (
            self._pace is Pace.APART
        ):  # the member with most tasks gives up most, and so hears first of the target it computes
            due_heartbeats.sort(key=lambda heartbeat: -len(memory.broker.members[heartbeat[1]].active))
        return min(due_heartbeats, key=lambda heartbeat: heartbeat[0])[1] if due_heartbeats else ""

    def _speaks_ms(self, memory: StreamsMemory, member_id: str) -> int:
        """Return when a member speaks that may compute the target that is wanted."""
        assert memory.computes_at_ms is not None
        return memory.beats[member_id].next_ms(memory.computes_at_ms, self._config.heartbeat_interval_ms, self._pace)

    def _with_next_heartbeats(
        self, memory: StreamsMemory, group: Group, at_ms: int, speakers: Sequence[str]
    ) -> StreamsMemory:
        """Set when each member hears something new next, and when a target may be computed."""
        broker, interval_ms = memory.broker, self._config.heartbeat_interval_ms
        due_ms, beats = broker.due_at_ms(), dict(memory.beats)
        known_ms = memory.computes_at_ms
        # a target that is wanted since before the last one was computed waits for the interval, too
        computes_at_ms = None if due_ms is None else max(due_ms, at_ms if known_ms is None else known_ms)
        waits = due_ms is not None and len(self._target_of(group, broker).owners) < len(group.tasks)
        for member_id in broker.table.order():
            member_beats, member = beats[member_id], broker.members[member_id]
            if waits:
                beats[member_id] = replace(member_beats, hears_at_ms=None)
            elif member_beats.hears_at_ms is None:
                owned = None if member_beats.applied_at_ms is None else member.holds
                next_member = broker.after_heartbeat(member_id, owned)
                if next_member != member:
                    from_ms = at_ms + (member_id in speakers)
                    pace = self._pace.of_member(gives_up=bool({*member.active} - {*next_member.active}))
                    beats[member_id] = replace(
                        member_beats, hears_at_ms=member_beats.next_ms(from_ms, interval_ms, pace)
                    )
        return replace(memory, beats=beats, computes_at_ms=computes_at_ms)

    def _apply_holdings(
        self, state: GroupState, new_holdings: Iterable[tuple[int, Holding]], at_ms: int, owners: LastOwners
    ) -> tuple[GroupState, list[Step], LastOwners]:
        """Return the group with the new holdings, the steps to them, and who ran each task last."""
        steps, owners, copies, now = list[Step](), dict(owners), list(state.copies), dict[int, Holding]()
        holdings = Holdings.of(state.group, state.holdings)
        for consumer, holding in new_holdings:
            change = HoldingChange(consumer, now.get(consumer, holdings[consumer]), holding)
            if change.previous == change.current:
                continue
            limit = self._config.acceptable_recovery_lag
            new = steps_of(state, change, owners, limit, in_memory=self._in_memory)
            for task, of_task in copies_after_change(state, *change, at_ms, in_memory=self._in_memory).items():
                copies[task] = of_task
            state = replace(state, copies=tuple(copies))
            self._follow(new, at_ms)
            owners.update(dict.fromkeys(change.current.active, seat(state, consumer)))
            now[consumer] = change.current
            steps += new
        return replace(state, holdings=holdings.with_held(state.group, now)), steps, owners

    def _follow(self, steps: Sequence[Step], at_ms: int) -> None:
        """Follow the tasks that start cold."""
        for step in steps:
            if isinstance(step, Revoke | Demote):
                self._cold.stop(step.task_id)
            elif isinstance(step, HandOver | Promote):
                records, cold = step.restore_records, not step.caught_up
                self._cold.start(step.task_id, step.to.process_id, records, at_ms, cold=cold)

    def _rebalance(self, state: GroupState, at_ms: int, steps: Sequence[Step]) -> Rebalance:
        """Return a rebalance in which the group decides: the target owners, and the copies held by then."""
        memory, group = memory_of(state), state.group
        holdings, target = Holdings.of(group, state.holdings), self._target_of(group, memory.broker)
        any_start = any(isinstance(step, HandOver | Promote | ThreadMove) for step in steps)
        return Rebalance(
            at_ms=at_ms,
            state=state,
            generation=memory.broker.target_epoch,
            decided=target.decided_holdings(holdings),
            held=holdings,
            target=target.target,
            steps=tuple(steps),
            phases=(Phase.CUT_OVER,) * any_start + (Phase.SETTLED,) * is_stable(memory.broker),
            queued=target.queued_count(holdings),
        )

    def _target_of(self, group: Group, broker: GroupCoordinator) -> TargetHoldings:
        """Return the newest target, by the indices of the group."""
        if self._target is None or self._target.group is not group or self._target.targets is not broker.targets:
            self._target = target_holdings(group, broker, self._numbers(group, broker))
        return self._target

    def _holding(self, group: Group, broker: GroupCoordinator, member_id: str) -> Holding:
        active, standby = broker.members[member_id].holds
        return as_holding(self._numbers(group, broker), active, standby)

    def _numbers(self, group: Group, broker: GroupCoordinator) -> Sequence[int]:
        """Return the group's number of each of the broker's tasks."""
        if self._number is None:
            self._number = [group.task_index_by_text[name] for name in broker.tasks.names]
        return self._number

    def _seat_of(self, state: GroupState, member_id: str) -> tuple[str, str]:
        owner_seat = seat(state, consumer_of(state.group, memory_of(state).broker, member_id))
        return owner_seat.process_id, owner_seat.consumer_id


def broker_settings(config: AssignmentConfig, broker_version: str) -> StreamsSettings:
    """Return what the broker goes by; 4.2 knows no assignment interval."""
    return StreamsSettings(
        num_standby_replicas=config.num_standby_replicas,
        assignment_interval_ms=0 if broker_version == "4.2" else config.streams_assignment_interval_ms or 0,
        initial_rebalance_delay_ms=config.streams_initial_rebalance_delay_ms or 0,
        by_current=BROKER_VERSIONS[broker_version],
    )


def _members(group: Group) -> list[tuple[str, str]]:
    """Return member and process id of every consumer."""
    return [(member_id, process_id) for process_id, member_id in group.consumer_index]


def _brought(state: GroupState, process_id: str, broker: GroupCoordinator) -> tuple[tuple[int, int], ...]:
    """Return the offsets of the directories that an instance finds again, by the broker's number of the task (4.4)."""
    if not broker.settings.by_current:
        return ()
    group, offsets = state.group, list[tuple[int, int]]()
    for number, name in enumerate(broker.tasks.names):
        task = group.task_index_by_text[name]
        for copy in state.copies[task]:
            if copy.instance == group.instance_index[process_id] and copy.remaining < MAX_LONG:
                offsets.append((number, max(0, group.tasks[task].end_offset_sum - copy.remaining)))
    return tuple(offsets)


def _rate_of(group: Group, rates: Rates, stopped_instances: Collection[int]) -> RateOf:
    def rate_of(process_id: str) -> float | None:
        instance = group.instance_index.get(process_id)
        return 0.0 if instance is None or instance in stopped_instances else rates.restore_rate(instance)

    return rate_of
