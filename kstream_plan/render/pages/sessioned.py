"""The page of a Connect group's way to ``sessioned``: the steps, and what happens by either protocol."""

from __future__ import annotations

from kstream_plan.model.connect_group import DELAY_UNKNOWN, HELD_BY_SEVERAL, SAME_ADDRESS, WORKER_SILENT
from kstream_plan.render.page import Page, Row, Table, Tone, columns_of, remark_lines, steps_table, text_cell, text_row
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count, count_range, duration
from kstream_plan.simulation.connect_upgrade_answer import SessionedUpgrade, UpgradeRow

_COLUMNS = columns_of(
    "Event", "Protocol", ">Rebalances", ">Unassigned", ">Longest pause", ">Over all", ">Settles after"
)
_NOTE = "Unassigned: most connectors and tasks at once. Longest pause: of one of them; over all: of all together."
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
        tables=(steps_table("Steps", upgrade.steps), rows),
        lines=remark_lines(upgrade.remarks),
    )


def _sentence(upgrade: SessionedUpgrade, names: Names) -> str:
    sentence = "One rolling restart is enough."
    if len(upgrade.rows) > 1:
        worker = names.instance(upgrade.worker)
        sentence += f" Below it, what happens by either protocol; the one that restarts or is killed is {worker}."
    if upgrade.draws > 1:
        sentence += f" {count(upgrade.draws, 'set')} of random ids were simulated; times are those of the worst one."
    return sentence


def _row(upgrade: SessionedUpgrade, row: UpgradeRow) -> Row:
    figures = row.figures
    settles = figures.settled_draws == figures.draws
    unknown = ", or unknown" * figures.times_open
    tone: Tone = "unknown" if figures.times_open else "plain"
    return text_row(
        f"{upgrade.add:,} join" if row.what == "join" else _EVENTS[row.what],
        "both" if row.what == "upgrade" else row.protocol,
        count_range(*figures.rebalances),
        f"{figures.at_once:,}",
        text_cell(duration(figures.longest_ms) + unknown, "unknown" if _is_long(upgrade, row) else tone),
        text_cell(duration(figures.item_ms.most) + unknown, tone),
        text_cell(duration(figures.takes_ms.most) + unknown, tone) if settles else text_cell("not settled", "bad"),
    )


def _is_long(upgrade: SessionedUpgrade, row: UpgradeRow) -> bool:
    """Return whether something pauses for longer than rebalances take."""
    return row.figures.longest_ms > 4 * upgrade.snapshot.config.heartbeat_interval_ms


def _tone(upgrade: SessionedUpgrade) -> Tone:
    """Return how the restart itself ends."""
    if any(row.figures.settled_draws < row.figures.draws for row in upgrade.rows):
        return "bad"
    doubtful = {DELAY_UNKNOWN, WORKER_SILENT, SAME_ADDRESS, HELD_BY_SEVERAL}
    doubts = doubtful.intersection(note.code for note in upgrade.snapshot.warnings)
    return "unknown" if doubts or _is_long(upgrade, upgrade.rows[0]) else "good"
