"""What a streams group remembers between the rebalances of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from kstream_plan.designs.streams.beats import Beats
from kstream_plan.designs.streams.coordinator import GroupCoordinator
from kstream_plan.designs.streams.reconciliation import MemberState
from kstream_plan.designs.streams.silence import FencedMember, Silent
from kstream_plan.designs.streams.steps import LastOwners
from kstream_plan.model import Group, GroupState
from kstream_plan.plans import Drop, Revoke, Trigger


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StreamsMemory:
    """What a streams group remembers between rebalances: the broker's half, which is never changed, and the heartbeats.

    ``owners`` are the seats that ran each task last. ``joining_members`` have sent no heartbeat yet, each with its
    process id and the offsets that it brings. ``computes_at_ms`` is when a heartbeat may compute a target at the
    earliest (``None``: none is wanted), ``trigger`` what it is wanted for. Instances in ``stopped_process_ids`` send
    none now. ``silent`` members never confirm that they have given up tasks, each with when it is fenced;
    ``fenced_members`` were. ``begins``: what is under way is not recorded yet; ``unreported_steps``: other steps that
    are not recorded yet.
    """

    broker_version: str
    broker: GroupCoordinator
    beats: Mapping[str, Beats]
    owners: LastOwners
    joining_members: tuple[tuple[str, str, tuple[tuple[int, int], ...]], ...] = ()
    computes_at_ms: int | None = None
    trigger: Trigger = Trigger.MANUAL
    stopped_process_ids: tuple[str, ...] = ()
    silent: Silent = field(default_factory=lambda: MappingProxyType({}))
    begins: bool = False
    unreported_steps: tuple[Revoke | Drop, ...] = ()
    fenced_members: tuple[FencedMember, ...] = ()

    @property
    def fences(self) -> Mapping[str, int]:
        """When the broker fences each silent member, if that is known; the last member stays one here."""
        fence_ms_by_member = {
            member_id: fenced_ms for member_id, fenced_ms in self.silent.items() if fenced_ms is not None
        }
        return fence_ms_by_member if len(self.broker.members) > 1 else {}


def memory_of(state: GroupState) -> StreamsMemory:
    """Return what a group remembers."""
    assert isinstance(state.memory, StreamsMemory)
    return state.memory


def consumer_of(group: Group, broker: GroupCoordinator, member_id: str) -> int:
    """Return the index of a member among the group's consumers."""
    return group.consumer_index[broker.members[member_id].process_id, member_id]


def is_stable(broker: GroupCoordinator) -> bool:
    """Tell whether everybody has what the newest target gives them."""
    return broker.group_epoch == broker.target_epoch and all(
        member.state is MemberState.STABLE and member.epoch == broker.target_epoch for member in broker.members.values()
    )
