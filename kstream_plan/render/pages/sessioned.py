"""The page of a Connect group's way to ``sessioned``: the steps, and what happens by either protocol."""

from __future__ import annotations

from collections.abc import Iterator

from kstream_plan.model import Note
from kstream_plan.model.note import Remarks
from kstream_plan.render.page import Page, Row, Table, Tone, columns_of, remark_lines, steps_table, text_cell, text_row
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count, count_range, duration
from kstream_plan.simulation.sessioned import SessionedUpgrade, UpgradeRow

_COLUMNS = columns_of(
    "Event", "Protocol", ">Rebalances", ">Unassigned", ">Longest pause", ">Over all", ">Settles after"
)
_NOTE = (
    "Unassigned: most connectors and tasks at once. Longest pause, over all: of one connector or task, and of all "
    "together."
)
_EVENTS = {
    "upgrade": "all restart",
    "restart": "one restarts",
    "restart-leader": "leader restarts",
    "crash": "one is killed",
}


def sessioned_page(upgrade: SessionedUpgrade) -> Page:
    """Return the page of the way of a Connect group to ``sessioned``."""
    group, names = upgrade.snapshot.state.group, Names(upgrade.snapshot.state.group)
    items = count(len(group.tasks), "connector or task", "connectors and tasks")
    work = f"{count(len(group.instances), 'worker')}, {items}"
    rows = Table("What happens", _COLUMNS, tuple(_row(upgrade, row) for row in upgrade.rows), _NOTE)
    return Page(
        title=f"{names.escape(group.application_id)}: {work}, from {upgrade.protocol} to sessioned",
        tone=_tone(upgrade),
        sentences=(_sentence(upgrade, names),),
        tables=(steps_table("Steps", sessioned_steps(upgrade)), rows),
        lines=remark_lines(sessioned_remarks(upgrade)),
    )


def _sentence(upgrade: SessionedUpgrade, names: Names) -> str:
    sentence = "One rolling restart is enough."
    if len(upgrade.rows) > 1:
        sentence += (
            " Below it, what happens by either protocol; the one that restarts or is killed is "
            f"{names.instance(upgrade.worker)}."
        )
    if upgrade.draws > 1:
        sentence += f" {count(upgrade.draws, 'set')} of random ids were simulated; times are those of the worst one."
    return sentence


def sessioned_steps(upgrade: SessionedUpgrade) -> list[str]:
    """Return what to do (KIP-415, KIP-507): a group rebalances by the best protocol that all workers support."""
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


def _row(upgrade: SessionedUpgrade, row: UpgradeRow) -> Row:
    figures = row.figures
    settles = figures.settled == figures.draws
    return text_row(
        f"{upgrade.add:,} join" if row.what == "join" else _EVENTS[row.what],
        "both" if row.what == "upgrade" else row.protocol,
        count_range(*figures.rebalances),
        f"{figures.at_once:,}",
        text_cell(duration(figures.longest_ms), "unknown" if _is_long(upgrade, row) else "plain"),
        duration(figures.item_ms.most),
        text_cell(duration(figures.takes_ms.most)) if settles else text_cell("not settled", "bad"),
    )


def _is_long(upgrade: SessionedUpgrade, row: UpgradeRow) -> bool:
    """Return whether something pauses for longer than rebalances take."""
    return row.figures.longest_ms > 4 * upgrade.snapshot.config.heartbeat_interval_ms


def _tone(upgrade: SessionedUpgrade) -> Tone:
    """Return how the restart itself ends."""
    if any(row.figures.settled < row.figures.draws for row in upgrade.rows):
        return "bad"
    return "unknown" if _is_long(upgrade, upgrade.rows[0]) else "good"


def sessioned_remarks(upgrade: SessionedUpgrade) -> Remarks:
    """Return what is told beside the figures."""
    message = (
        f"Each worker stops cleanly, and {duration(upgrade.pause_ms)} pass from its return until the next one stops. "
        "Until all have heard of a rebalance "
        f"{duration(upgrade.snapshot.config.heartbeat_interval_ms)} pass, which are counted; how long connectors take "
        "to stop and to start is not"
    )
    return Remarks(tuple(_warnings(upgrade)), tuple(_notes(upgrade)), (Note("restart-assumed", message),))


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
