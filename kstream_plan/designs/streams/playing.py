"""A streams group through one plan: heartbeat by heartbeat, as far as anybody hears anything new in one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from kstream_plan.designs.streams.beats import Beats, Pace, spread_beats
from kstream_plan.designs.streams.cold_starts import ColdStarts, RateOf
from kstream_plan.designs.streams.coordinator import GroupCoordinator, StreamsSettings
from kstream_plan.designs.streams.copies import Restless, later, reseated
from kstream_plan.designs.streams.memory import Playing, consumer_of, is_stable, playing_of
from kstream_plan.designs.streams.pending import as_holding, owned_by, pending, told_to_give_up, with_pending
from kstream_plan.designs.streams.reconciliation import MemberState, Owned
from kstream_plan.designs.streams.silence import Fenced, never_over, only, silent_members, until_fenced
from kstream_plan.designs.streams.start import Start, broker_of, with_told
from kstream_plan.designs.streams.steps import LastOwners, Moved, seat, steps_of, withheld
from kstream_plan.designs.streams.target_holdings import TargetHoldings, target_holdings
from kstream_plan.model import Group, GroupState, Holding, Holdings, Rates, WorkId
from kstream_plan.model.settings import MAX_LONG, AssignmentConfig
from kstream_plan.model.streams_group import BROKER_VERSIONS
from kstream_plan.plans import Phase, Reason, ReasonCode, Step, Trigger, Verdict
from kstream_plan.plans.design import Ahead, Coordinator, Due, Ending, Lapse, Turn
from kstream_plan.plans.membership import TakingIn
from kstream_plan.plans.steps import Demote, Drop, HandOver, Promote, Revoke, ThreadMove

_NOTHING = Owned(frozenset(), frozenset())
#: So many heartbeats an instance may be silent that stopped without anybody noticing.
_LONGEST_SILENCE = 100


class StreamsCoordinator(Coordinator[Turn]):
    """Plays the heartbeats of one group; see the module."""

    waits_for_all = False

    def __init__(self, config: AssignmentConfig, pace: Pace, *, in_memory: bool = False, draw: int = 0) -> None:
        self._config = config
        self._pace = pace
        self._draw = draw
        self._in_memory = in_memory
        self._cold = ColdStarts()
        self._restless = Restless()
        self._target: TargetHoldings | None = None
        self._number: list[int] | None = None
        self._age_ms: int | None = None

    def last(self, state: GroupState) -> Turn | None:
        """Return the turn before the plan, if not everybody has come to the target yet."""
        play = self._begun(state)
        if play.computes_at_ms == 0 or is_stable(play.broker):
            return None
        turn = self._turn(replace(state, at_ms=0, memory=self._heard(play, state.group, 0, ())), 0, ())
        return replace(turn, held=with_pending(state, play.broker, self._numbers(state.group, play.broker)))

    def until_now(self, state: GroupState, lapse: Lapse) -> GroupState:
        """Let copies restore and fall behind that were reported before now."""
        start = state.memory
        assert isinstance(start, Start)
        reported_in = {
            seat: at_ms - lapse.from_ms for seat, at_ms in start.reported_ms.items() if at_ms > lapse.from_ms
        }
        found = self._later(state, lapse, reported_in)
        return replace(found, at_ms=0, memory=self._begun(state))

    def take(self, state: GroupState, at_ms: int, _trigger: Trigger, members: tuple[Step, ...]) -> Turn:
        """Take the heartbeats of who joins now, or the one that is due."""
        play = playing_of(state)
        due = next((of for of, fenced_ms in play.fences.items() if fenced_ms <= at_ms), None)
        if due is not None and not play.joining:
            return self._fence(state, due, at_ms, members)
        broker, beats = play.broker.copied(), dict(play.beats)
        epoch, told = broker.target_epoch, list[str]()
        for member_id, process_id, offsets in play.joining:
            beats[member_id] = Beats(phase_ms=at_ms % self._config.heartbeat_interval_ms)
            if broker.join(at_ms, member_id, process_id, dict(offsets)).member.holds != _NOTHING:
                beats[member_id] = beats[member_id].told(at_ms)
            told.append(member_id)
        speaker = "" if play.joining else self._speaker(play, at_ms)
        if speaker:
            owned = broker.members[speaker].holds if beats[speaker].says_what_it_has(at_ms) else None
            tells = broker.heartbeat(at_ms, speaker, owned).tells
            beats[speaker] = beats[speaker].spoken(at_ms)
            beats[speaker] = beats[speaker].told(at_ms) if tells else beats[speaker]
            told.append(speaker)
        computed = broker.target_epoch > epoch
        after = [(consumer_of(state.group, broker, of), self._holding(state.group, broker, of)) for of in told]
        state, steps, owners = self._moved(state, after, at_ms, play.owners)
        begins = play.begins and broker.group_epoch == broker.target_epoch
        if computed or begins:
            running = {task: consumer for consumer, held in enumerate(state.holdings) for task in held.active}
            not_said = owned_by(state, broker, self._numbers(state.group, broker)).keys() - running.keys()
            steps += withheld(state, running.get, self._target_of(state.group, broker).owners, owners, not_said)
        steps = [*play.untold, *steps]
        silent = not computed and not (begins and steps) and (not speaker or not (steps or is_stable(broker)))
        untold = play.untold if silent else ()
        heard = replace(play, broker=broker, beats=beats, joining=(), owners=owners, untold=untold, begins=False)
        state = replace(state, memory=self._heard(heard, state.group, at_ms, told))
        turn = self._turn(state, at_ms, (*members, *steps))
        if computed or begins:
            return turn
        return replace(turn, member=self._seat_of(state, speaker or told[0]) if told else None, silent=silent)

    def _fence(self, state: GroupState, member_id: str, at_ms: int, members: tuple[Step, ...]) -> Turn:
        """Let a silent member go, with all that it holds."""
        play = playing_of(state)
        broker, beats = play.broker.copied(), dict(play.beats)
        consumer = consumer_of(state.group, broker, member_id)
        process_id, _, _ = seat(state, consumer)
        others = len(broker.members[member_id].active)
        fenced = Fenced(
            member_id,
            process_id,
            at_ms,
            told_to_give_up(state, broker, self._numbers(state.group, broker), member_id),
            others,
        )
        broker.leave(at_ms, member_id)
        del beats[member_id]
        state, steps, owners = self._moved(state, [(consumer, Holding())], at_ms, play.owners)
        reason = Reason(ReasonCode.THREAD_STOPPED)
        stopped = (replace(step, reason=reason) for step in steps if isinstance(step, Revoke | Drop))
        after = replace(
            play,
            broker=broker,
            beats=beats,
            owners=owners,
            trigger=Trigger.LEAVE,
            silent=only(play.silent, broker.members),
            fenced=(*play.fenced, fenced),
            untold=(*play.untold, *stopped),
        )
        state = replace(state, memory=self._heard(after, state.group, at_ms, ()))
        return replace(self._turn(state, at_ms, members), silent=True)

    def changes_nothing(self, turn: Turn) -> bool:
        """Tell whether the target is what everybody holds, and no other one is wanted."""
        broker = playing_of(turn.state).broker
        if broker.group_epoch > broker.target_epoch:
            return False
        held = {of: (frozenset(member.active), member.standby) for of, member in broker.members.items()}
        return not turn.steps and all(
            held[of] == (target.active, target.standby) for of, target in broker.targets.items()
        )

    def next(self, turn: Turn, ahead: Ahead) -> Due | None:
        """Say who speaks next and hears something new, or has a target computed."""
        play, group, interval_ms = playing_of(turn.state), turn.state.group, self._config.heartbeat_interval_ms
        if play.begins and play.computes_at_ms is None:
            return Due(turn.at_ms, Trigger.FOLLOW_UP)

        def running_at(member_id: str, at_ms: int) -> int:
            at_ms = max(at_ms, turn.at_ms)
            instance = group.instance_index[play.broker.members[member_id].process_id]
            for _ in range(_LONGEST_SILENCE):
                if instance not in ahead(at_ms + 1)[-1].stopped_instances:
                    break
                at_ms += interval_ms
            return at_ms

        hears = [running_at(of, beats.hears_at_ms) for of, beats in play.beats.items() if beats.hears_at_ms is not None]
        fences = [max(turn.at_ms, fenced_ms) for fenced_ms in play.fences.values()]
        if play.computes_at_ms is None:
            return Due(min([*hears, *fences]), Trigger.FOLLOW_UP, of_member=True) if hears or fences else None
        speaks = [running_at(of, self._speaks_ms(play, of)) for of in play.beats]
        due_ms, fence_ms = min([*hears, *speaks]), min(fences, default=None)
        if fence_ms is not None and fence_ms <= due_ms:
            return Due(fence_ms, play.trigger, of_member=True)
        return Due(due_ms, play.trigger)

    def later(self, turn: Turn, lapse: Lapse) -> GroupState:
        """Return the group as the next turn finds it."""
        at_ms = lapse.from_ms
        for span in lapse.spans:
            rate_of = _rate_of(turn.state.group, span.rates, span.stopped_instances)
            self._cold.restore(at_ms, at_ms + span.elapsed_ms, rate_of)
            at_ms += span.elapsed_ms
        group, stopped = turn.state.group, lapse.spans[-1].stopped_instances
        play = replace(playing_of(turn.state), stopped=tuple(group.instances[i].process_id for i in sorted(stopped)))
        state = replace(turn.state, generation=turn.generation, at_ms=turn.at_ms, memory=play)
        return self._later(state, lapse, {})

    def _later(self, state: GroupState, lapse: Lapse, reported_in: Mapping[tuple[int, int], int]) -> GroupState:
        """Return the group after a time, with its copies as they are then."""
        cleanup_ms = self._config.state_cleanup_delay_ms
        return later(state, lapse.spans, lapse.to_ms, cleanup_ms, reported_in, self._restless)

    def take_in(self, state: GroupState, taking: TakingIn) -> tuple[GroupState, Sequence[Step]]:
        """Let members go, and remember who is to join; settings count from now."""
        found, steps = super().take_in(state, taking)
        play, change = playing_of(state), taking.change
        broker, beats = play.broker.copied(), dict(play.beats)
        gone = {left.process_id for left in change.departures}
        stay = {of for of, process in _members(taking.group) if process not in gone}
        for member_id in [of for of in broker.table.order() if of not in stay]:
            broker.leave(taking.at_ms, member_id)
            del beats[member_id]
        for process_id in sorted(gone):
            self._cold.leave(process_id)
        if change.settings:
            before = broker.settings.num_standby_replicas
            broker.settings = broker_settings(taking.config, play.broker_version)
            self._config = taking.config
            if before != broker.settings.num_standby_replicas:
                broker.ask()
        back = {arrival.instance.process_id for arrival in change.arrivals}
        away = {of.member_id for of in play.fenced if of.process_id not in back}
        joining = tuple(
            (of, process, _brought(found, process, broker))
            for of, process in _members(taking.group)
            if of not in beats and of not in away
        )
        silent = only(play.silent, broker.members)
        untold = tuple(step for step in play.untold if step.from_.process_id not in gone)
        after = replace(
            play, broker=broker, beats=beats, joining=joining, trigger=change.trigger, silent=silent, untold=untold
        )
        return replace(found, memory=after), steps

    def waited_for(self, turn: Turn) -> tuple[WorkId, ...]:
        """Return the tasks that are not where the target has them."""
        pairs = zip(turn.decided, turn.held, strict=True)
        waiting = {task for wanted, held in pairs for task in {*wanted.active} - {*held.active}}
        return tuple(turn.state.group.tasks[task].task_id for task in sorted(waiting))

    def ended(self, turn: Turn, verdict: Verdict, rates: Rates) -> Ending:
        """Say when everything runs, as far as that is known."""
        self._cold.ended(turn.at_ms, _rate_of(turn.state.group, rates, frozenset()))
        play = playing_of(turn.state)
        waiting = [of for of, member in play.broker.members.items() if member.state is not MemberState.STABLE]
        if verdict.kind == "settled" and waiting:
            verdict = Verdict(
                "stuck",
                self.waited_for(turn),
                f"{', '.join(waiting)}: waiting, and no report of a member ends that",
            )
        if verdict.kind != "unfinished":
            verdict = self._silenced(turn) or verdict
        known, ends = self._cold.known, verdict.is_over or verdict.kind == "settled"
        return Ending(
            verdict,
            max_cold_ms=self._cold.max_ms if known or not self._cold.any_cold else None,
            runs_by_ms=max(turn.at_ms, self._cold.run_by_ms) if known and ends else None,
            follows_restores=True,
        )

    def _silenced(self, turn: Turn) -> Verdict | None:
        """Return how it ends with silent members: one that nobody knows when it is fenced, or one that was."""
        play, state = playing_of(turn.state), turn.state
        for member_id, fenced_ms in play.silent.items():
            member = play.broker.members[member_id]
            tasks = told_to_give_up(state, play.broker, self._numbers(state.group, play.broker), member_id)
            if tasks := tasks or self.waited_for(turn):
                alone = fenced_ms is not None
                return never_over(member, self._age_ms, tasks, self._config, alone=alone)
        first = next((of for of in play.fenced if of.task_ids), None)
        return None if first is None else until_fenced(first, self._age_ms, self._config)

    def _begun(self, state: GroupState) -> Playing:
        """Return what the group remembers when the plan begins."""
        start = state.memory
        assert isinstance(start, Start)
        broker = broker_of(start.group, state, broker_settings(self._config, start.group.broker_version))
        asked = start.asks_now and is_stable(broker)
        if asked:
            broker.ask()
        members = [member.member_id for member in start.group.members]
        missing = [one for one in _members(state.group) if one[0] not in broker.members]
        interval_ms = self._config.heartbeat_interval_ms
        beats = spread_beats(members, interval_ms, from_now=asked, draw=self._draw)
        silent = silent_members(start.group, self._config, self._pace)
        self._age_ms = start.group.target_age_ms
        return Playing(
            broker_version=start.group.broker_version,
            broker=broker,
            beats=with_told(beats, broker, silent),
            owners={
                task: seat(state, of)
                for task, of in owned_by(state, broker, self._numbers(state.group, broker)).items()
            },
            joining=tuple((of, process_id, _brought(state, process_id, broker)) for of, process_id in missing),
            trigger=Trigger.JOIN if missing else Trigger.MANUAL,
            silent=silent,
            begins=not asked and not is_stable(broker),
            untold=tuple(pending(state, broker, self._numbers(state.group, broker))),
            computes_at_ms=0 if asked else None,
        )

    def _speaker(self, play: Playing, at_ms: int) -> str:
        """Return whose heartbeat it is now; nobody's: empty."""
        running = [of for of in play.beats if play.broker.members[of].process_id not in play.stopped]
        times = [(at, of) for of in running if (at := play.beats[of].hears_at_ms) is not None]
        if play.computes_at_ms is not None:
            times += [(self._speaks_ms(play, of), of) for of in running]
        now = [one for one in times if one[0] <= at_ms]
        if self._pace is Pace.APART:  # who has most gives up most, and so hears first of what it computes
            now.sort(key=lambda one: -len(play.broker.members[one[1]].active))
        return min(now, key=lambda one: one[0])[1] if now else ""

    def _speaks_ms(self, play: Playing, member_id: str) -> int:
        """Return when a member speaks that may compute the target that is wanted."""
        assert play.computes_at_ms is not None
        return play.beats[member_id].next_ms(play.computes_at_ms, self._config.heartbeat_interval_ms, self._pace)

    def _heard(self, play: Playing, group: Group, at_ms: int, spoke: Sequence[str]) -> Playing:
        """Return the same with when each member hears something new, and when a target may be computed."""
        broker, interval_ms = play.broker, self._config.heartbeat_interval_ms
        due_ms, beats = broker.due_at_ms(), dict(play.beats)
        known_ms = play.computes_at_ms
        # a target that is wanted since before the last one was computed waits for the interval, too
        computes_at_ms = None if due_ms is None else max(due_ms, at_ms if known_ms is None else known_ms)
        waits = due_ms is not None and len(self._target_of(group, broker).owners) < len(group.tasks)
        for member_id in broker.table.order():
            of, member = beats[member_id], broker.members[member_id]
            if waits:
                beats[member_id] = replace(of, hears_at_ms=None)
            elif of.hears_at_ms is None:
                owned = None if of.applied_at_ms is None else member.holds
                after = broker.after_heartbeat(member_id, owned)
                if after != member:
                    from_ms = at_ms + (member_id in spoke)
                    pace = self._pace.of_member(gives_up=bool({*member.active} - {*after.active}))
                    beats[member_id] = replace(of, hears_at_ms=of.next_ms(from_ms, interval_ms, pace))
        return replace(play, beats=beats, computes_at_ms=computes_at_ms)

    def _moved(
        self, state: GroupState, after: Iterable[tuple[int, Holding]], at_ms: int, owners: LastOwners
    ) -> tuple[GroupState, list[Step], LastOwners]:
        """Return the group once these consumers hold this, the steps of that, and who ran each task last."""
        steps, owners, copies, now = list[Step](), dict(owners), list(state.copies), dict[int, Holding]()
        holdings = Holdings.of(state.group, state.holdings)
        for consumer, held in after:
            moved = Moved(consumer, now.get(consumer, holdings[consumer]), held)
            if moved.before == moved.after:
                continue
            limit = self._config.acceptable_recovery_lag
            new = steps_of(state, moved, owners, limit, in_memory=self._in_memory)
            for task, of_task in reseated(state, *moved, at_ms, in_memory=self._in_memory).items():
                copies[task] = of_task
            state = replace(state, copies=tuple(copies))
            self._follow(new, at_ms)
            owners.update(dict.fromkeys(moved.after.active, seat(state, consumer)))
            now[consumer] = moved.after
            steps += new
        return replace(state, holdings=holdings.with_held(state.group, now)), steps, owners

    def _follow(self, steps: Sequence[Step], at_ms: int) -> None:
        """Follow what starts cold."""
        for step in steps:
            if isinstance(step, Revoke | Demote):
                self._cold.stop(step.task_id)
            elif isinstance(step, HandOver | Promote):
                left, cold = step.restore_records, not step.caught_up
                self._cold.start(step.task_id, step.to.process_id, left, at_ms, cold=cold)

    def _turn(self, state: GroupState, at_ms: int, steps: Sequence[Step]) -> Turn:
        """Return a turn in which the group decides: who is to run what, and the copies that are held by then."""
        play, group = playing_of(state), state.group
        held, target = Holdings.of(group, state.holdings), self._target_of(group, play.broker)
        started = any(isinstance(step, HandOver | Promote | ThreadMove) for step in steps)
        return Turn(
            at_ms=at_ms,
            state=state,
            generation=play.broker.target_epoch,
            decided=target.decided(held),
            held=held,
            target=target.target,
            steps=tuple(steps),
            phases=(Phase.CUT_OVER,) * started + (Phase.SETTLED,) * is_stable(play.broker),
            queued=target.queued(held),
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
        found = seat(state, consumer_of(state.group, playing_of(state).broker, member_id))
        return found.process_id, found.consumer_id


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
    return [(of, process_id) for process_id, of in group.consumer_index]


def _brought(state: GroupState, process_id: str, broker: GroupCoordinator) -> tuple[tuple[int, int], ...]:
    """Return the offsets of the directories that an instance finds again, by the broker's number of the task (4.4)."""
    if not broker.settings.by_current:
        return ()
    group, found = state.group, list[tuple[int, int]]()
    for number, name in enumerate(broker.tasks.names):
        task = group.task_index_by_text[name]
        for copy in state.copies[task]:
            if copy.instance == group.instance_index[process_id] and copy.remaining < MAX_LONG:
                found.append((number, max(0, group.tasks[task].end_offset_sum - copy.remaining)))
    return tuple(found)


def _rate_of(group: Group, rates: Rates, stopped: Collection[int]) -> RateOf:
    def rate_of(process_id: str) -> float | None:
        instance = group.instance_index.get(process_id)
        return 0.0 if instance is None or instance in stopped else rates.restore_rate(instance)

    return rate_of
