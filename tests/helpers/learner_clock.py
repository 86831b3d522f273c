"""A clock with fractions of milliseconds for learner groups: recorded histories are exact, where plans have whole ones.

The learner rules, section 5: who is a member, what restores, and what starts the next round. The decisions are those of
the plans.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from kstream_plan.designs.learner.decision import LearnerDecision, decide
from kstream_plan.designs.learner.reported import Lag, LearnerSettings, Memory, Reported
from kstream_plan.model import NOBODY

#: Milliseconds from the start; whole unless copies share a rate.
Time = Fraction | int


@dataclass(slots=True)
class LearnerProcess:
    """An instance: its threads, whether it is a member, and since when it does not run.

    ``announced``: it says that it leaves. ``gone_at`` is when it stopped without a word, ``static``: as a static
    member, which may come back; ``absent``: the leader has noticed that. ``removed``: it has left.
    """

    threads: int
    member: bool = True
    announced: bool = False
    gone_at: Time | None = None
    static: bool = False
    absent: bool = False
    removed: bool = False

    @property
    def runs(self) -> bool:
        """Whether the process is there."""
        return self.member and self.gone_at is None and not self.absent


class LearnerRound(NamedTuple):
    """A round as it was played; ``causes`` are (what, instance, task), the last two ``NOBODY`` where there is none."""

    at_ms: Time
    causes: tuple[tuple[str, int, int], ...]
    decision: LearnerDecision


@dataclass(slots=True)
class Disk:
    """What one instance has of one task: what is missing, and since when it is left over (``None``: it is not)."""

    lag: Lag
    lost_at: Time | None = None


@dataclass(slots=True)
class LearnerGroup:
    """One group under the clock, private to whoever plays it.

    ``ends`` are the tasks' end offsets; by task: ``owner``, ``standbys`` (in the order of the last decision) and
    ``learner``. ``rate`` is in records per second and instance, ``None`` if nobody knows it.
    """

    settings: LearnerSettings
    stateful: Sequence[bool]
    ends: Sequence[int]
    processes: list[LearnerProcess]
    owner: list[int]
    standbys: list[list[int]]
    learner: list[int]
    memory: Memory
    rate: int | None
    session_timeout_ms: int
    cleanup_delay_ms: int
    disks: dict[tuple[int, int], Disk] = field(default_factory=dict)
    now: Time = 0
    causes: list[tuple[str, int, int]] = field(default_factory=list)
    told_ready: set[tuple[int, int]] = field(default_factory=set)
    pauses: int = 0
    restored: Lag = 0

    # -- what happens --------------------------------------------------------------------------------------------

    def join(self, instance: int, threads: int | None = None) -> None:
        """Let an instance join that is no member."""
        process = self.processes[instance]
        if process.member:
            return
        self.processes[instance] = LearnerProcess(process.threads if threads is None else threads)
        self.causes.append(("join", instance, NOBODY))

    def leave(self, instance: int) -> None:
        """Let a member announce that it leaves."""
        process = self.processes[instance]
        if process.member:
            process.announced = True
            self.causes.append(("leave", instance, NOBODY))

    def stop(self, instance: int, *, static: bool) -> None:
        """Let a member stop without a word."""
        process = self.processes[instance]
        if process.runs:
            process.gone_at, process.static = self.now, static

    def come_back(self, instance: int) -> None:
        """Let who is leaving, absent or gone stay after all."""
        process = self.processes[instance]
        if process.removed and not process.member:
            self.join(instance)
        elif process.gone_at is not None and process.static:
            process.gone_at, process.static = None, False
        elif process.member and (process.announced or process.absent):
            process.announced = process.absent = False
            self.causes.append(("return", instance, NOBODY))

    # -- time ----------------------------------------------------------------------------------------------------

    def notice(self) -> None:
        """Notice whose session has ended, and which deadlines are over."""
        for instance, process in enumerate(self.processes):
            if process.gone_at is None or self.now < process.gone_at + self.session_timeout_ms:
                continue
            what = "static_gone noticed" if process.static else "crash noticed"
            process.gone_at = None
            self.causes.append((what, instance, NOBODY))
            if process.static:
                process.absent, process.static = True, False
            else:
                process.member = False
                self._lose(instance)
        for instance, deadline in self.memory.leaving_deadlines.items():
            cause = ("deadline", instance, NOBODY)
            if self.processes[instance].member and self.now >= deadline and cause not in self.causes:
                self.causes.append(("deadline", instance, NOBODY))

    def _lose(self, instance: int) -> None:
        """Take from nobody's hands what a crashed instance held; its disk stays as it was."""
        for task, owner in enumerate(self.owner):
            if owner == instance:
                self.owner[task] = NOBODY
            if self.learner[task] == instance:
                self.learner[task] = NOBODY
            if instance in self.standbys[task]:
                self.standbys[task].remove(instance)

    def hear_ready(self) -> None:
        """Hear which learners have become ready; of those without a rate, which were so from the beginning."""
        if self.rate is None and self.causes:
            return
        for task, instance in enumerate(self.learner):
            if instance != NOBODY and self.processes[instance].runs and self._is_ready(task, instance):
                self._tell_ready(task, instance)

    def _tell_ready(self, task: int, instance: int) -> None:
        if (task, instance) not in self.told_ready:
            self.told_ready.add((task, instance))
            if self.rate is None:
                self.disks[instance, task].lag = 0
            self.causes.append(("ready", instance, task))

    def _is_ready(self, task: int, instance: int) -> bool:
        return self.disks[instance, task].lag <= self.settings.acceptable_recovery_lag

    def next_unrated(self) -> bool:
        """Without a rate: let the next learner be ready, in order of instance and task; tell whether there was one."""
        waiting = sorted(
            (instance, task)
            for task, instance in enumerate(self.learner)
            if instance != NOBODY and self.processes[instance].runs
        )
        if self.rate is not None or not waiting:
            return False
        instance, task = waiting[0]
        self._tell_ready(task, instance)
        return True

    @property
    def waits(self) -> bool:
        """Whether a member is gone that nobody has noticed: no round ends before that."""
        return any(process.gone_at is not None for process in self.processes)

    def next_time(self) -> Time | None:
        """Return when something happens by itself next: a loss is noticed, a deadline ends, a copy gets further."""
        times: list[Time] = [
            process.gone_at + self.session_timeout_ms for process in self.processes if process.gone_at is not None
        ]
        times += [
            deadline
            for instance, deadline in self.memory.leaving_deadlines.items()
            if deadline > self.now and self.processes[instance].member
        ]
        for instance, tasks in self._restoring().items():
            for task in tasks:
                lag = self.disks[instance, task].lag
                limit = self.settings.acceptable_recovery_lag
                is_learner = self.learner[task] == instance
                missing = lag - limit if is_learner and lag > limit else lag
                times.append(self.now + Fraction(missing * len(tasks) * 1000, self.rate or 1))
        return min(times, default=None)

    @property
    def restores(self) -> bool:
        """Whether anything restores now, at a rate that is known."""
        return bool(self._restoring())

    def pass_time(self, until: Time) -> None:
        """Let copies restore until then; nothing may change meanwhile."""
        for instance, tasks in self._restoring().items():
            done = Fraction((until - self.now) * (self.rate or 0), 1000 * len(tasks))
            for task in tasks:
                disk = self.disks[instance, task]
                self.restored += min(done, disk.lag)
                disk.lag = max(Fraction(0), disk.lag - done)
        self.now = until

    def _restoring(self) -> dict[int, list[int]]:
        """Return what restores on each instance that runs: its active tasks alone, else its copies."""
        if not self.rate:
            return {}
        actives: dict[int, list[int]] = {}
        copies: dict[int, list[int]] = {}
        for (instance, task), disk in self.disks.items():
            if not disk.lag or disk.lost_at is not None or not self.processes[instance].runs:
                continue
            if self.owner[task] == instance:
                actives.setdefault(instance, []).append(task)
            elif self.learner[task] == instance or instance in self.standbys[task]:
                copies.setdefault(instance, []).append(task)
        return copies | actives

    # -- a round -------------------------------------------------------------------------------------------------

    def reported(self) -> Reported:
        """Return what the members report now."""
        members = frozenset(instance for instance, process in enumerate(self.processes) if process.member)
        present = {instance for instance in members if not self.processes[instance].absent}
        return Reported(
            now_ms=self.now,  # type: ignore[arg-type]
            stateful=self.stateful,
            threads=[process.threads for process in self.processes],
            owner=self.owner,
            standbys={
                task: {instance: self.disks[instance, task].lag for instance in holders if instance in present}
                for task, holders in enumerate(self.standbys)
            },
            learner={
                task: (instance, self.disks[instance, task].lag)
                for task, instance in enumerate(self.learner)
                if instance in present
            },
            members=members,
            announced=frozenset(instance for instance in members if self.processes[instance].announced),
            absent=members - present,
        )

    def play(self) -> LearnerRound:
        """Play the round that is due."""
        causes, self.causes = tuple(sorted(self.causes)), []
        reported = self.reported()
        self.pauses += sum(instance != NOBODY for instance in self.learner)
        decision = decide(reported, self.memory, self.settings)
        before = self._held()
        self.owner, self.learner = list(decision.owner), list(decision.learner)
        self.standbys = [list(standbys) for standbys in decision.standbys]
        self.memory = decision.memory
        for instance, process in enumerate(self.processes):
            if process.member and instance not in decision.memory.last_members:
                self.processes[instance] = LearnerProcess(process.threads, member=False, removed=True)
        after = self._held()
        for seat in sorted(before - after):
            self.disks[seat].lost_at = self.now
        for seat in sorted(after - before):
            self._begin(*seat)
        self.told_ready &= {(task, instance) for task, instance in enumerate(self.learner)}
        if decision.next_at_once:
            self.causes.append(("standbys", NOBODY, NOBODY))
        return LearnerRound(self.now, causes, decision)

    def _held(self) -> set[tuple[int, int]]:
        """Return who has which stateful task in any role."""
        held = {(owner, task) for task, owner in enumerate(self.owner) if owner != NOBODY and self.stateful[task]}
        held |= {(instance, task) for task, instance in enumerate(self.learner) if instance != NOBODY}
        return held | {(instance, task) for task, holders in enumerate(self.standbys) for instance in holders}

    def _begin(self, instance: int, task: int) -> None:
        """Start a copy from what the disk has, unless that was cleaned up."""
        disk = self.disks.get((instance, task))
        cleaned = disk is not None and disk.lost_at is not None and self.now - disk.lost_at >= self.cleanup_delay_ms
        if disk is None or cleaned:
            self.disks[instance, task] = Disk(self.ends[task])
        else:
            disk.lost_at = None
