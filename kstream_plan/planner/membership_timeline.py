"""A scenario as the group notices it: who is counted in from when to when, and why a rebalance starts.

An instance that stops without leaving counts as a member until the session time-out; a static one that is back by then
was never gone. Meanwhile no rebalance can end, for the group waits for the absent member; and a default close that
comes while one is on its way waits until it has ended, so bounces queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from math import inf
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from kstream_plan.errors import ScenarioError
from kstream_plan.model import Consumer, Instance
from kstream_plan.model.scenario import (
    Bounce,
    Burst,
    ConfigChange,
    Event,
    Join,
    Leave,
    NewInstance,
    ProduceRate,
    RestoreRate,
    Return,
    SettingValue,
    Stop,
    Threads,
    moment,
)
from kstream_plan.model.settings import AssignmentConfig
from kstream_plan.model.times import duration
from kstream_plan.planner.instance_ids import check_consumers, renamed, thread_ids, with_threads_of
from kstream_plan.planner.leader_settings import LeaderSettings, NextLeader
from kstream_plan.plans import Outage, Trigger
from kstream_plan.plans.membership import Arrival, Departure, GroupChange

PaceChange: TypeAlias = ProduceRate | RestoreRate | Burst

#: When the group notices that members have stopped. A session runs from a member's last heartbeat, which may be a whole
#: interval old: a session time-out after the stop (``likely``), an interval earlier, or an interval later, when all
#: others have heard of it. ``one-by-one``: the members that stop together expire one after the other within that
#: interval, in their order or ``reversed``.
Noticed: TypeAlias = Literal["likely", "early", "late", "one-by-one", "reversed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipTimeline:
    """Who is in the group from when to when, as the group notices it.

    changes: the changes of members and settings, in time.
    outages: when instances do not run, noticed or not, in time.
    unnoticed: those outages after which the group goes on as if nothing had happened, in time.
    paces: the changes of restore and produce rates, in time.
    all_instances: every instance that ever takes part, with all threads it ever has.
    crashed: the instances that come back from a crash, if no event says what is left of their state.
    emptied: the instances that come back from a crash with less state, unnoticed by the group.
    close_by_ms: by instance, how long before the group noticed its absence it came back (below 0: after it), if that is
        within a heartbeat interval.
    is_next_leader_unknown: the settings depend on who leads after the leader, and that is unknown.
    waits_first: a default close waits for the end of a rebalance that is under way at the beginning.
    late_stops: the stops that wait for the end of a rebalance, and when they happen.
    """

    changes: tuple[GroupChange, ...]
    outages: tuple[Outage, ...]
    unnoticed: tuple[Outage, ...]
    paces: tuple[PaceChange, ...]
    all_instances: tuple[Instance, ...]
    crashed: tuple[str, ...] = ()
    emptied: tuple[str, ...] = ()
    close_by_ms: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    is_next_leader_unknown: bool = False
    waits_first: bool = False
    late_stops: tuple[tuple[Stop, int], ...] = ()

    @property
    def notices_late(self) -> bool:
        """Whether the group notices some time after it that anybody has stopped."""
        return any(departure.stopped_at_ms < change.at_ms for change in self.changes for departure in change.departures)


def timeline(
    members: Sequence[Instance],
    config: AssignmentConfig,
    events: Iterable[Event],
    *,
    lost_in_crash: float = inf,
    in_memory: bool = False,
    leader: int | None = None,
    next_leader: NextLeader = "longest",
    notice_timing: Noticed = "likely",
    rebalances_until_ms: int | None = None,
) -> MembershipTimeline:
    """Say what the group notices of ``events``, and when. New instances have their process ids already.

    ``lost_in_crash``: how many records of each task an instance lacks after a crash; ``in_memory``: who comes back has
    nothing of what it had. ``leader`` is the place of the leader among the members; ``None``: unknown.
    Once it has gone, ``next_leader`` does. ``notice_timing`` says when the group notices that members have stopped.
    ``rebalances_until_ms``: when a rebalance ends that is under way at the beginning; ``None``: none is.

    Raises:
        ScenarioError: an event does not fit the group: an unknown instance, one that stops twice, no member left, …
    """
    is_leader_known = leader is not None
    leads = members[leader or 0].process_id if members and (is_leader_known or next_leader == "longest") else None
    leader_settings = LeaderSettings(config, next_leader, leads, is_leader_known)
    everybody = {instance.process_id: instance for instance in members}
    first_ms = -1 if rebalances_until_ms is None else rebalances_until_ms
    draft = _Draft(
        everybody,
        leader_settings,
        lost_in_crash,
        in_memory=in_memory,
        notice_timing=notice_timing,
        rebalances_until_ms=first_ms,
    )
    draft.add(events)
    draft.notice_until(None)
    return MembershipTimeline(
        changes=tuple(draft.changes),
        outages=_lasting(draft.outages + draft.unnoticed),
        unnoticed=_lasting(draft.unnoticed),
        paces=tuple(draft.paces),
        all_instances=tuple(draft.all_instances.values()),
        crashed=tuple(draft.guessed),
        emptied=tuple(draft.emptied),
        close_by_ms={
            process_id: by_ms
            for process_id, by_ms in draft.back_by_ms.items()
            if abs(by_ms) <= config.heartbeat_interval_ms
        },
        is_next_leader_unknown=leader_settings.is_next_leader_unknown,
        waits_first=draft.waits_first,
        late_stops=tuple(sorted(draft.late_stops.values(), key=lambda stop: stop[1])),
    )


def _lasting(outages: Iterable[Outage]) -> tuple[Outage, ...]:
    return tuple(sorted((outage for outage in outages if outage.to_ms > outage.from_ms), key=lambda outage: outage[1:]))


@dataclass(slots=True)
class _Down:
    """A member that stopped without leaving, by ``event``.

    ``instance`` is what it was. ``back`` once it runs again, before the group noticed. ``expiring`` are the threads
    that expire before the last one does, each with when; those that did by now are taken out.
    """

    instance: Instance
    stopped_at_ms: int
    noticed_at_ms: int
    event: Stop
    back: Arrival | None = None
    expiring: dict[str, int] = field(default_factory=dict)


class _Due(NamedTuple):
    """An event, in the order of time and, at the same time, of the list; ``step`` of those that it stands for."""

    at_ms: int
    place: int
    step: int
    event: Event


@dataclass(slots=True)
class _Draft:
    """The group while the events are gone through; private to one call."""

    members: dict[str, Instance]
    leader_settings: LeaderSettings
    lost_in_crash: float
    in_memory: bool = False
    notice_timing: Noticed = "likely"
    rebalances_until_ms: int = -1
    waits_first: bool = False
    noticed_ms: dict[str, int] = field(default_factory=dict)
    back_by_ms: dict[str, int] = field(default_factory=dict)
    put_off: dict[str, tuple[Stop, int]] = field(default_factory=dict)
    late_stops: dict[int, tuple[Stop, int]] = field(default_factory=dict)
    crashed: set[str] = field(default_factory=set)
    guessed: dict[str, None] = field(default_factory=dict)
    emptied: dict[str, None] = field(default_factory=dict)
    all_instances: dict[str, Instance] = field(default_factory=dict)
    former_members: dict[str, Instance] = field(default_factory=dict)
    down: dict[str, _Down] = field(default_factory=dict)
    changes: list[GroupChange] = field(default_factory=list)
    outages: list[Outage] = field(default_factory=list)
    unnoticed: list[Outage] = field(default_factory=list)
    paces: list[PaceChange] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.all_instances.update(self.members)

    def add(self, events: Iterable[Event]) -> None:
        """Take all events in time; what waits for a rebalance to end is late, and so is what comes after it."""
        queue: list[_Due] = [_Due(event.at_ms, place, 0, event) for place, event in enumerate(events)]
        heapify(queue)
        while queue:
            due = heappop(queue)
            self.notice_until(due.at_ms)
            waits_until_ms = self._waits_until_ms(due)
            if waits_until_ms > due.at_ms:
                self.waits_first |= not self.changes and not self.down
                self._put_off(due, waits_until_ms)
                heappush(queue, due._replace(at_ms=waits_until_ms))
                continue
            for next_event in self._happen(due):
                heappush(queue, next_event)

    def _waits_until_ms(self, due: _Due) -> int:
        """Return when an event happens that is due: a default close not before a rebalance on its way has ended."""
        event = due.event
        if isinstance(event, Bounce) and not event.leaves and event.process_ids:
            return max(due.at_ms, self._rebalance_over_ms(due.at_ms))
        if isinstance(event, Stop) and not event.crash:
            return max(due.at_ms, self._rebalance_over_ms(due.at_ms))
        if isinstance(event, Return):
            put_off_stops = [self.put_off[process_id] for process_id in event.process_ids if process_id in self.put_off]
            return max((stops_ms + event.at_ms - stop.at_ms for stop, stops_ms in put_off_stops), default=due.at_ms)
        return due.at_ms

    def _rebalance_over_ms(self, at_ms: int) -> int:
        """Return the first moment after the rebalance that is on its way; a past one if none is."""
        return self.rebalances_until_ms + 1 if at_ms <= self.rebalances_until_ms else at_ms

    def _put_off(self, due: _Due, until_ms: int) -> None:
        event = due.event
        if isinstance(event, Stop):
            self.put_off.update(dict.fromkeys(event.process_ids, (event, until_ms)))
            self.late_stops[due.place] = event, until_ms

    def _happen(self, due: _Due) -> Iterator[_Due]:
        """Apply an event now, and yield the events that follow from it; a bounce goes on with the next instance."""
        event, at_ms = due.event, due.at_ms
        if not isinstance(event, Bounce):
            self.take(event if event.at_ms == at_ms else replace(event, at_ms=at_ms))
            return
        if not event.process_ids:
            return
        if event.surge:
            yield from self._surged(due, event)
            return
        restarted_ids, remaining_ids = event.process_ids[:1], event.process_ids[1:]
        end = Leave if event.leaves else Stop
        self.take(end(at_ms=at_ms, process_ids=restarted_ids, where=event.where))
        self.leader_settings.restart_with(restarted_ids, event.settings)
        back_ms = at_ms + event.restart_ms
        new_ids = tuple(str(instance.process_id) for instance in event.new_instances[:1])
        return_event = Return(
            at_ms=back_ms,
            process_ids=restarted_ids,
            keeps_disk=not new_ids,
            static=event.static,
            new_process_ids=new_ids,
            where=event.where,
        )
        yield _Due(back_ms, due.place, due.step + 1, return_event)
        next_ms = back_ms + event.pause_ms
        remaining = replace(event, at_ms=next_ms, process_ids=remaining_ids, new_instances=event.new_instances[1:])
        yield _Due(next_ms, due.place, due.step + 2, remaining)

    def _surged(self, due: _Due, event: Bounce) -> Iterator[_Due]:
        """Let so many new instances join, and yield the end of the old ones, and the next step."""
        so_many, at_ms = event.surge, due.at_ms
        new_instances = event.new_instances[:so_many]
        self.leader_settings.restart_with([str(instance.process_id) for instance in new_instances], event.settings)
        self.take(Join(at_ms=at_ms, instances=new_instances, where=event.where))
        end = Leave if event.leaves else Stop
        ends_ms = at_ms + event.restart_ms
        end_event = end(at_ms=ends_ms, process_ids=event.process_ids[:so_many], where=event.where)
        yield _Due(ends_ms, due.place, due.step + 1, end_event)
        next_ms = ends_ms + event.pause_ms
        remaining = event.process_ids[so_many:], event.new_instances[so_many:]
        remaining_event = replace(event, at_ms=next_ms, process_ids=remaining[0], new_instances=remaining[1])
        yield _Due(next_ms, due.place, due.step + 2, remaining_event)

    def take(self, event: Event) -> None:
        match event:
            case Join():
                arrivals = [Arrival(_existing(instance, event)) for instance in event.instances]
                self._change(event.at_ms, Trigger.JOIN, event, arrivals=arrivals)
            case Leave():
                self._leave(event)
            case Stop():
                self._stop_all(event)
            case Return():
                self._return(event)
            case Threads():
                self._resize(event)
            case ConfigChange():
                self.leader_settings.set_for_all(event.settings)
                self._change(event.at_ms, Trigger.CONFIG_CHANGE, event, settings=event.settings)
            case ProduceRate() | RestoreRate() | Burst():
                self._pace(event)
            case Bounce():
                raise AssertionError("a bounce is a list of single events")
            case _:  # of a kind that only the group's own design understands
                self._change(event.at_ms, Trigger.CONFIG_CHANGE, event)

    def notice_until(self, at_ms: int | None) -> None:
        """Let the session time-outs pass that end by then (``None``: all)."""
        due = [(down.noticed_at_ms, process_id, "") for process_id, down in self.down.items()]
        due += [
            (expires_ms, process_id, consumer_id)
            for process_id, down in self.down.items()
            for consumer_id, expires_ms in down.expiring.items()
        ]
        for noticed_at_ms, process_id, consumer_id in sorted(due):
            if at_ms is not None and noticed_at_ms > at_ms:
                break
            if consumer_id:
                self._expire(process_id, consumer_id, noticed_at_ms)
                continue
            down = self.down.pop(process_id)
            self.noticed_ms[process_id] = noticed_at_ms
            self.outages.append(Outage(process_id, down.stopped_at_ms, noticed_at_ms))
            self.members[process_id] = down.instance
            arrivals = () if down.back is None else (down.back,)
            self._change(
                noticed_at_ms,
                Trigger.MEMBER_RESTART if arrivals else Trigger.LEAVE,
                down.event,
                departures=(Departure(process_id, down.stopped_at_ms),),
                arrivals=arrivals,
            )

    def _expire(self, process_id: str, consumer_id: str, at_ms: int) -> None:
        """Let one thread expire of an instance that has stopped, while others of it still count as members."""
        down, instance = self.down[process_id], self.members[process_id]
        del down.expiring[consumer_id]
        remaining_consumers = tuple(consumer for consumer in instance.consumers if consumer.consumer_id != consumer_id)
        self.members[process_id] = replace(instance, consumers=remaining_consumers)
        self.unnoticed.append(Outage(process_id, down.stopped_at_ms, at_ms))  # it has not run since it stopped
        self._change(at_ms, Trigger.LEAVE, down.event)

    def _leave(self, event: Leave) -> None:
        for place, process_id in enumerate(event.process_ids):
            self._check_running(process_id, event)
            if process_id in event.process_ids[:place]:
                raise ScenarioError(f"{self._name(process_id)!r} is named twice", where=event.where, fix="name it once")
        down_ids = [process_id for process_id in event.process_ids if process_id in self.down]
        for process_id in down_ids:
            self.down[process_id].back = None
        departures = [
            Departure(process_id, event.at_ms) for process_id in event.process_ids if process_id not in down_ids
        ]
        if departures:
            self._change(event.at_ms, Trigger.LEAVE, event, departures=departures)

    def _stop_all(self, event: Stop) -> None:
        """Let instances stop; where their members expire one by one, the last of them does a session later."""
        for process_id in event.process_ids:
            self._stop(process_id, event)
        if self.notice_timing not in ("one-by-one", "reversed"):
            return
        threads = [
            (process_id, consumer.consumer_id)
            for process_id in event.process_ids
            for consumer in self.down[process_id].instance.consumers
        ]
        expiry_order = threads[::-1] if self.notice_timing == "reversed" else threads
        for place, (process_id, consumer_id) in enumerate(expiry_order):
            down, heartbeat_ms = self.down[process_id], self._heartbeat_ms(process_id)
            earlier_ms = heartbeat_ms * (len(expiry_order) - 1 - place) // max(1, len(expiry_order) - 1)
            expires_ms = max(event.at_ms, down.noticed_at_ms - earlier_ms)
            down.expiring[consumer_id] = expires_ms
        for process_id in event.process_ids:  # with the last thread of an instance all of it has expired
            down = self.down[process_id]
            last = max(down.expiring, key=lambda consumer_id: down.expiring[consumer_id])
            down.noticed_at_ms = down.expiring.pop(last)

    def _stop(self, process_id: str, event: Stop) -> None:
        self._check_running(process_id, event)
        self.put_off.pop(process_id, None)
        (self.crashed.add if event.crash else self.crashed.discard)(process_id)
        later_ms = {"early": -1, "late": 1}.get(self.notice_timing, 0) * self._heartbeat_ms(process_id)
        session_ms = max(0, self.leader_settings.settings_of(process_id).session_timeout_ms + later_ms)
        noticed_at_ms = event.at_ms + session_ms
        if process_id in self.down:  # it was back, but the group has not taken it in yet
            self.down[process_id] = replace(self.down[process_id], noticed_at_ms=noticed_at_ms, event=event, back=None)
        else:
            self.down[process_id] = _Down(self.members[process_id], event.at_ms, noticed_at_ms, event)

    def _heartbeat_ms(self, process_id: str) -> int:
        return self.leader_settings.settings_of(process_id).heartbeat_interval_ms

    def _return(self, event: Return) -> None:
        arrivals = []
        for place, process_id in enumerate(event.process_ids):
            down = self.down.get(process_id)
            instance = self.former_members.get(process_id) or (None if down is None else down.instance)
            if instance is None or (down is not None and down.back is not None):
                raise ScenarioError(
                    f"{self._name(process_id)!r} runs at {moment(event.at_ms)}, so it cannot return",
                    where=event.where,
                    fix="let it leave, stop or crash first",
                )
            noticed_ms = self.noticed_ms.get(process_id) if down is None else down.noticed_at_ms
            if noticed_ms is not None:
                self.back_by_ms[process_id] = noticed_ms - event.at_ms
            arrival = self._back(instance, event, place)
            if down is None:
                arrivals.append(arrival)
                self.former_members.pop(process_id)
            elif event.keeps_disk and (event.static or instance.is_static):
                self.unnoticed.append(Outage(process_id, down.stopped_at_ms, event.at_ms))
                emptied = arrival.disk_of is None or arrival.lacks_some
                self.emptied |= {process_id: None} if emptied else {}
                self._resume(process_id, instance, event)
            else:
                down.back = arrival
                self._rebalance()
        if arrivals:
            self._change(event.at_ms, Trigger.JOIN, event, arrivals=arrivals)

    def _resume(self, process_id: str, instance: Instance, event: Return) -> None:
        """Let an instance go on that was never gone, but for threads of it that have expired: these join again."""
        expired = self.members[process_id] != instance
        self.members[process_id] = instance
        del self.down[process_id]
        if expired:
            self._change(event.at_ms, Trigger.JOIN, event)

    def _rebalance(self) -> None:
        """Begin a rebalance: it ends when the group has noticed everybody who is away."""
        self.rebalances_until_ms = max([self.rebalances_until_ms, *(down.noticed_at_ms for down in self.down.values())])

    def _back(self, instance: Instance, event: Return, place: int) -> Arrival:
        if not event.keeps_disk:
            return Arrival(renamed(instance, event.new_process_ids[place]))
        if self.in_memory:
            return Arrival(instance)
        lost_records = inf if event.state == "lost" else 0
        if event.state is None and instance.process_id in self.crashed:
            self.guessed[instance.process_id] = None
            lost_records = self.lost_in_crash
        self.crashed.discard(instance.process_id)
        flushed = inf if event.flushed_per_second is None else event.flushed_per_second
        return Arrival(instance, instance.process_id, flushed, lost_records)

    def _resize(self, event: Threads) -> None:
        self._check_running(event.process_id, event)
        if event.process_id in self.down:
            raise ScenarioError(
                f"{self._name(event.process_id)!r} is not a member again at {moment(event.at_ms)}",
                where=event.where,
                fix="change its threads once it is a member again, "
                f"{moment(self.leader_settings.settings_of(event.process_id).session_timeout_ms)} after it stopped",
            )
        instance = self.members[event.process_id]
        if event.threads > instance.capacity:
            ids = thread_ids(instance, event.threads)
            new_consumers = tuple(
                Consumer(consumer_id=consumer_id, protocols=instance.consumers[0].protocols) for consumer_id in ids
            )
            resized = replace(instance, consumers=instance.consumers + new_consumers)
        else:
            resized = replace(instance, consumers=instance.consumers[: event.threads])
        self.members[event.process_id] = resized
        trigger = Trigger.JOIN if resized.capacity > instance.capacity else Trigger.LEAVE
        self._change(event.at_ms, trigger, event)

    def _pace(self, event: PaceChange) -> None:
        for process_id in event.process_ids if isinstance(event, RestoreRate) else ():
            if process_id not in self.all_instances:
                raise ScenarioError(f"there is no instance {process_id!r}", where=event.where)
        self.paces.append(event)

    def _check_running(self, process_id: str, event: Leave | Stop | Threads) -> None:
        if process_id not in self.all_instances:
            raise ScenarioError(f"there is no instance {process_id!r}", where=event.where)
        down = self.down.get(process_id)
        if process_id not in self.members or (down is not None and down.back is None):
            message = f"{self._name(process_id)!r} is not running at {moment(event.at_ms)}"
            raise ScenarioError(message, where=event.where, fix="let it return first")

    def _name(self, process_id: str) -> str:
        """Return the name of an instance: its host, if no other one has the same, else its process id."""
        host = self.all_instances[process_id].host
        is_unique = host is not None and sum(instance.host == host for instance in self.all_instances.values()) == 1
        return host if host is not None and is_unique else process_id

    def _change(
        self,
        at_ms: int,
        trigger: Trigger,
        event: Event,
        *,
        departures: Sequence[Departure] = (),
        arrivals: Sequence[Arrival] = (),
        settings: tuple[tuple[str, SettingValue], ...] = (),
    ) -> None:
        for departure in departures:
            self.former_members[departure.process_id] = self.members.pop(departure.process_id)
        for arrival in arrivals:
            instance = arrival.instance
            if instance.process_id in self.members:
                fix = "give the new instance a process id of its own"
                raise ScenarioError(f"{instance.process_id!r} is a member already", where=event.where, fix=fix)
            self.members[instance.process_id] = instance
            self.former_members.pop(instance.process_id, None)
        for instance in self.members.values():
            self.all_instances[instance.process_id] = with_threads_of(
                instance, self.all_instances.get(instance.process_id)
            )
        check_consumers(self.members, event.where)
        self._rebalance()
        if not self.members:
            message = f"no instance is left at {duration(at_ms)}"
            raise ScenarioError(message, where=event.where, fix="let one of them stay, or another one run by then")
        led_anew = self.leader_settings.elect_next(self.members, {departure.process_id for departure in departures})
        self.changes.append(
            GroupChange(
                at_ms=at_ms,
                trigger=trigger,
                event=event,
                members=tuple(self.members.values()),
                departures=tuple(departures),
                arrivals=tuple(arrivals),
                settings=settings or led_anew,
            )
        )


def _existing(instance: NewInstance | Instance, event: Join) -> Instance:
    if isinstance(instance, NewInstance):
        raise ScenarioError("a new instance has no process id yet", where=event.where)
    return instance
