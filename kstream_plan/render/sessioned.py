"""How a Connect group gets to ``sessioned``, as text for a terminal, as Markdown, as JSON: the steps, either side."""

from __future__ import annotations

import json

from kstream_plan.documents.codec import Json
from kstream_plan.documents.plan.fields import FORMAT_VERSION
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.plan.fleet import Column, markdown_overview, overview
from kstream_plan.render.text.escape import MARKDOWN, TERMINAL, Escape
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count, duration, from_to, interval
from kstream_plan.render.text.wrapping import paragraph
from kstream_plan.simulation.sessioned import SessionedUpgrade, UpgradeRow
from kstream_plan.version import __version__

_COLUMNS = (
    Column("what"),
    Column("by"),
    Column("rebal.", right=True),
    Column("at once", right=True),
    Column("each ≤", right=True),
    Column("in all", right=True),
    Column("settled", right=True),
)
_MEANING = (
    "at once: most connectors and tasks that nobody runs at the same time; each, in all: how long one of them, and all "
    "together, stand still"
)


def sessioned_table(found: SessionedUpgrade, *, width: int = DEFAULT_WIDTH, colour: bool = False) -> str:
    """Return the steps, a line for everything that happens, and what there is to know, lines ended."""
    names = Names(found.snapshot.state.group, TERMINAL)
    lines = paragraph(_heading(found, TERMINAL), width)
    for number, step in enumerate(_steps(found), start=1):
        lines += paragraph(step, width, f"  {number}. ", "     ")
    rows, bad = [_cells(found, row) for row in found.rows], [_is_bad(found, row) for row in found.rows]
    table = overview(_about_rows(found, names), _COLUMNS, rows, bad, width=width, colour=colour)
    below = paragraph(_MEANING, width, "", "  ")
    for remark in _remarks(found):
        below += paragraph(remark, width, "! ", "  ")
    return "\n".join([*lines, "", table + "\n".join(below)]) + "\n"


def sessioned_markdown(found: SessionedUpgrade) -> str:
    """Return the same as Markdown."""
    names = Names(found.snapshot.state.group, MARKDOWN)
    parts = [
        f"### {_heading(found, MARKDOWN)}\n",
        "".join(f"{number}. {step}\n" for number, step in enumerate(_steps(found), start=1)),
        markdown_overview(_about_rows(found, names), _COLUMNS, [_cells(found, row) for row in found.rows]),
        f"{_MEANING}\n",
        "".join(f"- {remark}\n" for remark in _remarks(found)),
    ]
    return "\n".join(parts)


def sessioned_json(found: SessionedUpgrade) -> str:
    """Return the same as one line of JSON, described by ``documents/schemas/sessioned.json``, without the line end."""
    snapshot = found.snapshot
    document: dict[str, Json] = {
        "format_version": FORMAT_VERSION,
        "kind": "sessioned",
        "application_id": snapshot.state.group.application_id,
        "tool": {"name": "kstream-plan", "version": __version__, "models": found.models},
        "input": {
            "snapshot_digest": found.snapshot_digest,
            "generation": snapshot.state.generation,
            "captured_at": snapshot.captured_at,
        },
        "protocol": found.protocol,
        "steps": list(_steps(found)),
        "restart_ms": found.restart_ms,
        "pause_ms": found.pause_ms,
        "joining": found.add,
        "worker": found.worker,
        "leader": found.leader,
        "draws": found.draws,
        "rows": [_row(row) for row in found.rows],
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _row(row: UpgradeRow) -> dict[str, Json]:
    of = row.figures
    return {
        "what": row.what,
        "protocol": row.protocol,
        "draws": of.draws,
        "settled": of.settled,
        "rebalances": of.rebalances._asdict(),
        "at_once": of.at_once,
        "longest_ms": of.longest_ms,
        "item_ms": of.item_ms._asdict(),
        "takes_ms": of.takes_ms._asdict(),
    }


def _heading(found: SessionedUpgrade, escape: Escape) -> str:
    group = found.snapshot.state.group
    workers, work = count(len(group.instances), "worker"), f"{len(group.tasks):,} connectors and tasks"
    return (
        f"{escape.name(group.application_id)}: {workers}, {work}, from {found.protocol} to sessioned in one rolling "
        "restart"
    )


def _steps(found: SessionedUpgrade) -> list[str]:
    """Return what to do (KIP-415, KIP-507): a group rebalances by the best protocol that all workers support."""
    number, restart = len(found.snapshot.state.group.instances), interval(found.restart_ms)
    delay = interval(found.snapshot.config.scheduled_rebalance_max_delay_ms or 0)
    settings = (
        "Workers of 2.4 or later. In each worker's configuration take connect.protocol out, or set it to sessioned"
    )
    one_by_one = f"Restart the {number:,} workers one after the other, {restart} each, the next one once all runs again"
    back = "The way back is to set it again: "
    if found.protocol == "eager":
        return [
            settings,
            f"Choose scheduled.rebalance.max.delay.ms ({delay}) in the same restart: from the last one on, what a "
            "stopped worker ran is kept that long, and nobody runs it, whether the worker is back or not",
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


def _about_rows(found: SessionedUpgrade, names: Names) -> str:
    draws = [f"the worst of {count(found.draws, 'draw')} of the ids"] if found.draws > 1 else []
    away = [f"who is restarted is away for {interval(found.restart_ms)}"]
    if len(found.rows) == 1:
        return f"The restart ({'; '.join([*away, *draws])}):"
    what = "The restart, and what happens then by either protocol"
    return f"{what} ({'; '.join([f'one: {names.instance(found.worker)}', *away, *draws])}):"


_WHAT = {
    "upgrade": "all restart",
    "restart": "one restarts",
    "restart-leader": "leader restarts",
    "crash": "one is killed",
}


def _cells(found: SessionedUpgrade, row: UpgradeRow) -> tuple[str, ...]:
    of = row.figures
    return (
        f"{found.add:,} join" if row.what == "join" else _WHAT[row.what],
        "both" if row.what == "upgrade" else row.protocol,
        from_to(*of.rebalances[1:]),
        f"{of.at_once:,}",
        duration(of.longest_ms),
        duration(of.item_ms.most),
        duration(of.takes_ms.most) if of.settled == of.draws else "not settled",
    )


def _is_bad(found: SessionedUpgrade, row: UpgradeRow) -> bool:
    """Tell whether something stands still for longer than rebalances take."""
    of = row.figures
    return of.settled < of.draws or of.longest_ms > 4 * found.snapshot.config.heartbeat_interval_ms


def _remarks(found: SessionedUpgrade) -> list[str]:
    remarks = [
        "From sessioned on workers sign what they send each other (KIP-507): a request to /connectors/NAME/tasks that "
        "no worker has signed is refused"
    ]
    if found.protocol == "eager":
        remarks.append(
            "What is worse by sessioned is the delay: drain says what a shorter one changes for each worker, and the "
            "recipe connect-restart how to restart one"
        )
    if found.leader is None:
        remarks.append("Nobody knows who leads: if the leader goes, nothing waits, and a delay that runs ends")
    remarks.append(
        f"Assumed: each worker stops cleanly, and {interval(found.pause_ms)} pass from its return until the next one "
        f"stops. Until all have heard of a rebalance {interval(found.snapshot.config.heartbeat_interval_ms)} pass, "
        "which are counted; how long connectors take to stop and to start is not"
    )
    return remarks
