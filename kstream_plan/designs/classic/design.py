"""The classic protocol as a design: what it models, takes for granted and can at best do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import ClassVar

from kstream_plan.assignors import ASSIGNORS, FOLLOWS_A_FILE
from kstream_plan.assignors.planned.target_file import NO_TARGET, TargetNow
from kstream_plan.assignors.racks.costs import is_rack_aware
from kstream_plan.designs.classic.coordinator import ClassicCoordinator
from kstream_plan.designs.classic.next_rebalance import AT_PROBES, LATE, READY_LAST, SOONEST, TYPICAL, RebalanceTiming
from kstream_plan.errors import UsageError
from kstream_plan.model import Group, GroupState, Note, Snapshot
from kstream_plan.model.note import count, name_list
from kstream_plan.model.releases import MODELLED_STREAMS, modelled_as
from kstream_plan.model.scenario import Scenario
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.model.starting_state import seated
from kstream_plan.model.times import duration, duration_span, utc
from kstream_plan.plans import HandOver, LowerBounds, MemberLeft, Trigger, probes_after_ms
from kstream_plan.plans.design import Design, FinishedRun
from kstream_plan.plans.summary import DurationIs
from kstream_plan.plans.targets import TARGET_EXPIRES, idle_expiry
from kstream_plan.protocols import PROTOCOLS, gives_up


@dataclass(frozen=True, slots=True)
class Classic(Design):
    """A leader that decides by ``assignor``, members that rebalance by ``protocol``, both names in their registries.

    ``timing``: when rebalances come, by default when they typically do; ``times_alone``: only their times are wanted;
    ``release``: of Kafka, by whose rules; ``None``: the newest that is modelled. ``target`` is the file that the
    assignor ``planned`` follows, and when the plan begins.
    """

    assignor: str = "high-availability"
    protocol: str = "cooperative"
    timing: RebalanceTiming = TYPICAL
    times_alone: bool = False
    release: str | None = None
    target: TargetNow = NO_TARGET
    name: ClassVar[str] = "classic"
    probes: ClassVar[bool] = True
    goes_on: ClassVar[bool] = True
    moves_when_caught_up: ClassVar[bool] = True
    differs_by_release: ClassVar[bool] = True
    unrated_times: ClassVar[DurationIs] = "probes"
    since_unknown: ClassVar[str] = (
        "and since when they restore is unknown too (snapshot --set offsets.topic=true reads when it last joined)"
    )

    @property
    def models(self) -> str:
        """The release whose behaviour it has."""
        return modelled_as(self.release, "Kafka Streams", MODELLED_STREAMS, "classic protocol")

    def start(self, state: GroupState, _scenario: Scenario | None) -> GroupState:
        """Set the consumer of every copy; left-over copies date from the state's time, unless they say when."""
        return seated(state)

    def rebalances_until_ms(self, state: GroupState, config: AssignmentConfig) -> int | None:
        """Return when the follow-up comes of a decision that is known: members have begun to rejoin for it."""
        coordinator = self.coordinator(config)
        last_turn = coordinator.resume(self.start(state, None))
        due = None if last_turn is None else coordinator.next_rebalance(last_turn, lambda _to_ms: ())
        return max(0, due.at_ms) if due is not None and due.under_way else None

    def coordinator(self, config: AssignmentConfig) -> ClassicCoordinator:
        """Begin to coordinate a group with these settings.

        Raises:
            KeyError: no such assignor or protocol.
        """
        assign = ASSIGNORS[self.assignor].of_release(self.release)
        protocol = PROTOCOLS[self.protocol].of_release(self.release)
        return ClassicCoordinator(
            assign, protocol, config, self.timing, times_alone=self.times_alone, target=self.target
        )

    @property
    def is_quick(self) -> bool:
        """Whether the engine decides: another assignor takes many times as long."""
        return ASSIGNORS[self.assignor].by_engine

    def rounds_at_most(self, rounds: int, config: AssignmentConfig) -> int:
        """Return as many more as a target file probes more often than the settings say."""
        if self.target.content is None or self.assignor != FOLLOWS_A_FILE:
            return rounds
        from kstream_plan.assignors.planned.target_file import TargetRefused, parse_target  # noqa: PLC0415 - of one assignor

        try:
            probe_ms = parse_target(self.target.content).probe_ms
        except TargetRefused:
            return rounds
        return rounds * max(1, -(-config.probing_rebalance_interval_ms // probe_ms))

    def beginning_at(self, epoch_ms: int | None) -> Classic:
        """Return the same design of a plan that begins then.

        Raises:
            UsageError: that is unknown, and a target file expires.
        """
        if epoch_ms is None and self.target.content is not None and self.assignor == FOLLOWS_A_FILE:
            message = "a target file expires, and the snapshot does not say when it was taken"
            raise UsageError(message, fix="give the time with --set now=TIME")
        return replace(self, target=self.target._replace(now_ms=epoch_ms or 0))

    def fitted_to(self, snapshot: Snapshot) -> Classic:
        """Return the same design by the rules of the release that runs."""
        return replace(self, release=snapshot.streams_version)

    def soonest(self) -> Classic:
        """Return the same design with every rebalance as early as it can be."""
        return replace(self, timing=SOONEST)

    def telling_times_alone(self) -> Classic:
        """Return the same design without the steps of its rebalances."""
        return replace(self, times_alone=True)

    def late(self) -> Classic:
        """Return the same design with follow-ups as late as on a busy machine."""
        return replace(self, timing=LATE)

    def at_probes(self) -> Classic:
        """Return the same design with copies of unknown restore rate caught up at probes alone."""
        return replace(self, timing=AT_PROBES)

    def ready_last(self) -> Classic:
        """Return the same as :meth:`at_probes` with none caught up before the last change from outside, either."""
        return replace(self, timing=READY_LAST)

    def stopping(self, group: Group) -> frozenset[int]:
        """Return the consumers that the protocol makes give up everything before they join."""
        return gives_up(group, self.protocol)

    def assumptions(self, run: FinishedRun) -> tuple[Note, ...]:
        """Return notes on when the plan begins, who pauses, and what is assumed of copies of unknown rate."""
        rounds, group = run.rounds, run.state.group
        notes = [
            _starts(run),
            Note("typical-times", "Times are typical, give or take a heartbeat interval per rebalance"),
        ]
        expiry = idle_expiry(rounds)
        if expiry is not None:
            message = (
                "The target file has an empty slot, or an instance has none: nothing moves after "
                f"{duration(expiry.since_ms)} until it expires, at {duration(expiry.at_ms)}, when the group rebalances "
                "without it"
            )
            notes.append(Note(TARGET_EXPIRES, message))
        stopping = self.stopping(group)
        if rounds and stopping:
            share = (
                "All" if len(stopping) == len(group.consumer_ids) else f"{len(stopping)} of {len(group.consumer_ids)}"
            )
            message = (
                f"{share} consumers pause all their tasks at every rebalance, whether they move or not: the eager "
                "protocol"
            )
            notes.append(Note("eager-stops", message))
        mixed_consumers = gives_up(group, "mixed") - stopping
        if rounds and mixed_consumers:
            message = (
                f"{len(mixed_consumers)} consumers list more than the cooperative protocol, and are assumed to use it; "
                "--set protocol=mixed assumes otherwise"
            )
            notes.append(Note("protocols-not-used", message))
        config = run.configs[-1]
        racks_warned = any(note.code == "no-racks" for note in run.snapshot.warnings)
        unplanned = config.rack_aware_assignment_strategy != "none" and not is_rack_aware(run.group, config)
        if unplanned and not racks_warned:
            message = (
                f"rack.aware.assignment.strategy={config.rack_aware_assignment_strategy} is not planned: some racks "
                "of instances or of partition replicas are unknown"
            )
            notes.append(Note("racks-unknown", message))
        if rounds and run.unrated and not run.rates.any_restore:
            bounds = count(len(run.rates.restore_at_least), "instance")
            minimum = f" (of {bounds} only a minimum is known)" if run.rates.restore_at_least else ""
            message = f"The restore rate is unknown{minimum}: each copy {_catches_up(run)}"
            notes.append(Note("no-restore-rate", message))
        elif rounds and run.unrated:
            message = f"The restore rate or the end offset of some copies is unknown: each of them {_catches_up(run)}"
            notes.append(Note("no-restore-rate", message, run.unrated))
        return tuple(notes)

    def lower_bounds(self, moves: int, run: FinishedRun, *, solve: bool) -> LowerBounds:
        """Return the minimum of probes, and for an optimal assignor or to ``solve``, of records to restore."""
        least = None
        if solve or ASSIGNORS[self.assignor].optimal:
            least = self._least_restored(run)
        at_once = next((rnd.follows.warmups for rnd in run.rounds if rnd.follows is not None), None)
        probes = -(-moves // (at_once or run.configs[0].max_warmup_replicas))
        return LowerBounds(moves=moves, probing_rebalances=probes, restored_records=least)

    def _least_restored(self, run: FinishedRun) -> int | None:
        from kstream_plan.assignors.balanced.least_restored import least_restored  # noqa: PLC0415 - loads the solver

        most_lenient = max(config.acceptable_recovery_lag for config in run.configs)
        return least_restored(
            run.state,
            run.group,
            run.target,
            replace(run.configs[-1], acceptable_recovery_lag=most_lenient),
            subtopologies=ASSIGNORS[self.assignor].optimal,
        )


def _catches_up(run: FinishedRun) -> str:
    interval = duration_span(probes_after_ms(run.rounds, run.configs))
    return f"is assumed to catch up within one probing interval ({interval})"


def _due(run: FinishedRun) -> Iterator[str]:
    """Yield which tasks start first, because the last decision withheld them, and when the next probe comes."""
    rounds, group = run.rounds, run.state.group
    if rounds and rounds[0].trigger is Trigger.FOLLOW_UP:
        steps = [step for step in rounds[0].single_steps if isinstance(step, HandOver) and step.from_ is not None]
        tasks = [str(step.task_id) for step in steps if group.stateful_flags[group.task_index[step.task_id]]]
        if tasks:
            verb = "starts" if len(tasks) == 1 else "start"
            yield f"{name_list(tasks)}, which the last rebalance revoked, {verb} first"
    follow_ups = [*takewhile(lambda rnd: rnd.trigger is Trigger.FOLLOW_UP, rounds)]
    probes = [rnd for rnd in rounds[len(follow_ups) : len(follow_ups) + 1] if rnd.trigger is Trigger.PROBING]
    if probes and not any(isinstance(step, MemberLeft) for rnd in follow_ups for step in rnd.member_steps):
        yield f"the next probe is due in {duration(probes[0].at_ms)}"


def _starts(run: FinishedRun) -> Note:
    if run.goes_on:
        moment = "the snapshot's" if run.begins_at is None else utc(run.begins_at)
        parts = [f"Time 0s is {moment}", *_due(run)]
        message = "The plan continues from the last known decision, as if no rebalance had come since"
        return Note("goes-on", f"{message}. {'; '.join(parts)}")
    if not run.rounds or run.rounds[0].trigger is Trigger.MANUAL or run.scenario is None:
        return Note("starts-now", "A rebalance starts now; a probe that is already scheduled is not included")
    return Note("starts-now", "A probe that is already scheduled is not included")
