"""The page of the switch to a streams group: the steps, and what happens on either side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kstream_plan.render.page import (
    Cell,
    Page,
    Row,
    Table,
    Tone,
    columns_of,
    remark_lines,
    steps_table,
    text_cell,
    text_row,
)
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import at_least, count, count_range, duration, duration_range
from kstream_plan.simulation.streams_migration_answer import Switch, SwitchFigures, SwitchRow, is_colder

_COLUMNS = columns_of(
    *("Event", ">Standbys", "Protocol", ">Cold starts", ">Longest pause", ">Settles after"),
    *(">Assignments", ">State to restore"),
    wide={"Assignments": 105, "State to restore": 120},
)
_NOTE = (
    "A bounce counts the stop and the return. Longest pause: until a task has its next instance, and then until that "
    "has restored its state. Settles after: until nothing moves or restores any more; a classic group runs its tasks "
    "meanwhile."
)
_STANDBYS_NOTE = " Standbys do not change the switch: all stop, and the first assignment knows of no copy."


def switch_page(switch: Switch) -> Page:
    """Return the page of the switch of an application to a streams group."""
    group, names = switch.snapshot.state.group, Names(switch.snapshot.state.group)
    work = f"{count(len(group.instances), 'instance')}, {count(len(group.tasks), 'task')}"
    most = max(row.standbys for row in switch.rows)
    scenarios = [row for row in switch.rows if not (switch.is_blind and row.what == "switch" and row.standbys)]
    rows = tuple(_row(switch, row, names) for row in scenarios if row.standbys <= switch.standbys + 1)
    note = _NOTE + _STANDBYS_NOTE * (switch.is_blind and most > 0)
    note += f" With {most:,} standbys: --output json." * (most > switch.standbys + 1)
    return Page(
        title=f"{names.escape(group.application_id)}: {work}, to a streams group at brokers of {switch.broker_version}",
        tone=_tone(switch.rows),
        sentences=tuple(_sentences(switch, names)),
        tables=(steps_table("Steps", switch.steps), Table("What happens on either side", _COLUMNS, rows, note)),
        lines=remark_lines(switch.remarks),
    )


def _sentences(switch: Switch, names: Names) -> Iterator[str]:
    """Yield what the switch itself takes, what is worse and better afterwards, and how that was simulated."""
    standbys = min(switch.standbys, max(row.standbys for row in switch.rows))
    figures = {(row.what, row.side): row.figures for row in switch.rows if row.standbys == standbys}
    outcome = figures["switch", "streams"]
    stateful = count(len(switch.snapshot.state.group.stateful), "stateful task")
    yield f"All tasks stop for about {duration(outcome.paused_ms.median)}. {_restores(switch, outcome, stateful)}"
    cold = list[str]()
    for kind in (kind for kind, side in figures if side == "classic"):
        streams, classic = (figures[kind, protocol].cold_handovers for protocol in ("streams", "classic"))
        if is_colder(streams, classic):
            moment = f"{'when' if kind == 'join' else 'at a'} {_event(switch, kind, names)}"
            cold.append(f"{count_range(*streams)} instead of {count_range(*classic)} {moment}")
    comparison = f"more tasks start cold than in a classic group{': ' if cold else ''}{', '.join(cold)}"
    origin = "as now" if switch.settings_known else "(Kafka's default; the number of now is unknown)"
    yield f"Afterwards, with {count(standbys, 'standby')} {origin}, {'' if cold else 'no '}{comparison}."
    origin = "from a settled group whose copies have caught up"
    yield f"Each protocol is simulated {count(switch.draws, 'time')} with random member ids, {origin}."


def _restores(switch: Switch, outcome: SwitchFigures, stateful: str) -> str:
    """Return how many tasks restore when all start anew, why, and until when."""
    settles = f"All tasks run after {_settle_cell(outcome).text}."
    if not outcome.cold_handovers.most:
        return f"None of them starts cold. {settles}"
    blind = f", because brokers of {switch.broker_version} do not know what is on an instance's disk"
    cause = ", because stores are in memory" if switch.snapshot.stores == "in-memory" else blind * switch.is_blind
    if outcome.runs_ms is None:
        settles = "How long that takes is unknown (--restore-rate)."
    return f"{count_range(*outcome.cold_handovers)} of {stateful} then restore state before they run{cause}. {settles}"


def _event(switch: Switch, kind: str, names: Names) -> str:
    instance = names.instance(switch.instance)
    return {
        "switch": "the switch",
        "join": count(switch.add, "instance joins", "instances join"),
        "bounce": f"bounce of {instance}",
        "crash": f"crash of {instance}",
    }[kind]


def _row(switch: Switch, row: SwitchRow, names: Names) -> Row:
    figures = row.figures
    cold = figures.cold_handovers
    tone: Tone = "bad" if cold.median else "unknown" if cold.most else "plain"
    records = figures.restored_records
    slowest = figures.slowest_ms
    restoring = "restore" if slowest is None else duration_range(*slowest)
    if slowest is not None and not cold.median:
        restoring = f"up to {duration(slowest.most)}"
    return text_row(
        _event(switch, row.what, names),
        "any" if switch.is_blind and row.what == "switch" else f"{row.standbys:,}",
        row.side,
        text_cell(count_range(*cold), tone),
        f"{duration_range(*figures.paused_ms)}{f' + {restoring}' if cold.most else ''}",
        _settle_cell(figures),
        count_range(*figures.rebalances),
        text_cell("unknown", "unknown") if records is None else text_cell(count_range(*records)),
    )


def _settle_cell(figures: SwitchFigures) -> Cell:
    """Return when every task runs where it stays, restores included."""
    if figures.settled_draws < figures.draws:
        return text_cell("not settled", "bad")
    if figures.may_not_settle:
        return text_cell(f"at least {at_least(figures.at_least_ms.least)}, or not settled", "unknown")
    if figures.runs_ms is not None:
        return text_cell(duration_range(*figures.runs_ms))
    if figures.at_least_is == "least":
        return text_cell(f"at least {at_least(figures.at_least_ms.least)}")
    likely = duration(figures.at_least_ms.median)
    return text_cell(f"{likely} or more" if figures.cold_handovers.most else f"about {likely}")


def _tone(rows: Sequence[SwitchRow]) -> Tone:
    """Return red if something does not settle or starts cold, yellow if it may."""
    if any(row.figures.settled_draws < row.figures.draws or row.figures.cold_handovers.median for row in rows):
        return "bad"
    return "unknown" if any(row.figures.cold_handovers.most or row.figures.runs_ms is None for row in rows) else "good"
