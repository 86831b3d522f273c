"""The answer on the way to ``sessioned``: figures by either protocol, the steps, the remarks beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from kstream_plan.model import Note, Snapshot
from kstream_plan.model.note import Remarks
from kstream_plan.model.times import duration
from kstream_plan.plans.simulated import Range

#: What happens: the change itself, workers that join, the restart of one, of the leader, a crash.
What: TypeAlias = Literal["upgrade", "join", "restart", "restart-leader", "crash"]
#: A protocol of workers (``connect.protocol``).
Protocol: TypeAlias = Literal["eager", "compatible", "sessioned"]


class UpgradeFigures(NamedTuple):
    """The figures of one event, over all draws.

    ``at_once``: most connectors and tasks that stand still at the same time, ``longest_ms`` how long one does in all,
    both of the worst draw; ``item_ms`` all of them together; ``takes_ms`` until nothing follows any more.
    ``settled_draws`` of ``draws`` settle. ``times_open``: a delay may run, and the times may be others.
    """

    draws: int
    settled_draws: int
    rebalances: Range
    at_once: int
    longest_ms: int
    item_ms: Range
    takes_ms: Range
    times_open: bool = False


class UpgradeRow(NamedTuple):
    """One event, its protocol (of the change: the one before it), and its figures."""

    what: What
    protocol: Protocol
    figures: UpgradeFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionedUpgrade:
    """What it takes to get a Connect group to ``sessioned``.

    ``protocol`` is that of now. Each worker is restarted once, ``restart_ms`` away, the next one ``pause_ms`` after it
    is back. ``worker`` (member id) is the one that is restarted and crashes afterwards, ``leader`` who leads (``None``:
    REST did not tell). ``rows`` begin with the change.
    """

    snapshot: Snapshot
    protocol: Protocol
    restart_ms: int
    pause_ms: int
    add: int
    worker: str
    leader: str | None
    rows: tuple[UpgradeRow, ...]
    draws: int
    models: str
    snapshot_digest: str

    @property
    def steps(self) -> list[str]:
        """What to do (KIP-415, KIP-507): a group rebalances by the best protocol that all workers support."""
        return _steps(self)

    @property
    def remarks(self) -> Remarks:
        """The remarks beside the figures."""
        command = Note("restart", "kstream-plan help connect-restart")
        warnings = (*self.snapshot.warnings, *_warnings(self))
        assumptions = (*self.snapshot.assumptions, _assumption(self))
        return Remarks(warnings, tuple(_notes(self)), assumptions, (command,))


def _steps(upgrade: SessionedUpgrade) -> list[str]:
    number, restart = len(upgrade.snapshot.state.group.instances), duration(upgrade.restart_ms)
    delay = duration(upgrade.snapshot.config.scheduled_rebalance_max_delay_ms or 0)
    settings = (
        "Workers of 2.4 or later. In each worker's configuration take connect.protocol out, or set it to sessioned"
    )
    one_by_one = f"Restart the {number:,} workers one after the other, {restart} each, the next one once all runs again"
    back = "The way back is to set it again: "
    if upgrade.protocol == "eager":
        return [
            settings,
            f"Choose scheduled.rebalance.max.delay.ms ({delay}) in the same restart: from the last one on, what a "
            "stopped worker ran is unassigned that long, whether the worker is back or not",
            f"{one_by_one}. As long as one worker supports eager only, the group is eager: everything stops when one "
            "goes, and when it is back",
            "When the last one is back the group is sessioned: everything stops once more and starts where it was, and "
            "what is above the new share moves, in a rebalance of its own. The workers log protocol='sessioned'",
            f"{back}one worker with connect.protocol=eager makes the group eager again, at once",
        ]
    return [
        settings,
        f"{one_by_one}: what it ran waits for scheduled.rebalance.max.delay.ms ({delay}). As long as one worker "
        "supports compatible only, the group is compatible. Both decide alike",
        "When the last one is back the group is sessioned, and nothing stops for that. The workers log "
        "protocol='sessioned'",
        f"{back}one worker with connect.protocol=compatible makes the group compatible again",
    ]


def _warnings(upgrade: SessionedUpgrade) -> Iterator[Note]:
    if upgrade.leader is None:
        yield Note("leader-unknown", "The leader is unknown: if it goes, nothing waits, and a delay that runs ends")


def _notes(upgrade: SessionedUpgrade) -> Iterator[Note]:
    yield Note(
        "signed-requests",
        "From sessioned on workers sign what they send each other (KIP-507): a request to /connectors/NAME/tasks that "
        "no worker has signed is refused",
    )
    if upgrade.protocol == "eager":
        yield Note(
            "delay",
            "What is worse by sessioned is the delay: drain says what a shorter one changes for each worker, and the "
            "recipe connect-restart how to restart one",
        )


def _assumption(upgrade: SessionedUpgrade) -> Note:
    message = (
        f"Each worker stops cleanly, and {duration(upgrade.pause_ms)} pass from its return until the next one stops. "
        "Until all have heard of a rebalance "
        f"{duration(upgrade.snapshot.config.heartbeat_interval_ms)} pass, which are counted; how long connectors take "
        "to stop and to start is not"
    )
    return Note("restart-assumed", message)
