"""The page of the switch to a streams group: the steps, and what happens on either side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kstream_plan.model import Note
from kstream_plan.model.note import Remarks
from kstream_plan.model.streams_group import BROKER_VERSIONS, GROUP_SETTINGS
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
from kstream_plan.render.text.numbers import at_least, count, count_range, duration, range_text
from kstream_plan.simulation.switch import Side, Switch, SwitchFigures, SwitchRow

_MOST_STANDBYS = GROUP_SETTINGS["streams_num_standby_replicas"][3]
_COLUMNS = columns_of(
    *("Event", ">Standbys", "Protocol", ">Rebalances", ">Cold starts", ">Longest pause", ">Settles after"),
    *(">State to restore", ">Range of pauses", ">Range until it settles"),
    wide={"State to restore": 105, "Range of pauses": 125, "Range until it settles": 150},
)
_NOTE = (
    "Rebalances: of a streams group, the targets that its broker computes. Longest pause: without what a task restores "
    "before it runs. Settles after: until every task runs where it stays, restores included; the tasks of a classic "
    "group run on until they move."
)


def switch_page(switch: Switch) -> Page:
    """Return the page of the switch of an application to a streams group."""
    group, names = switch.snapshot.state.group, Names(switch.snapshot.state.group)
    work = f"{count(len(group.instances), 'instance')}, {count(len(group.tasks), 'task')}"
    steps = steps_table("Steps", map(names.escape_message, switch_steps(switch)))
    rows = tuple(_row(switch, row, names) for row in switch.rows)
    return Page(
        title=f"{names.escape(group.application_id)}: {work}, to a streams group at brokers of {switch.broker_version}",
        tone=_tone(switch.rows),
        sentences=tuple(_sentences(switch, names)),
        tables=(steps, Table("What happens on either side", _COLUMNS, rows, _NOTE)),
        lines=remark_lines(switch_remarks(switch), names.escape_message),
    )


def _sentences(switch: Switch, names: Names) -> Iterator[str]:
    """Yield what the switch itself takes, what is worse and better afterwards, and how that was simulated."""
    standbys = min(switch.standbys, max(row.standbys for row in switch.rows))
    figures = {(row.what, row.side): row.figures for row in switch.rows if row.standbys == standbys}
    events = {kind: _event(switch, kind, names) for kind, side in figures if side == "classic"}
    cold, settles, outcome = list[str](), list[str](), figures["switch", "streams"]
    for kind, event in events.items():
        classic, streams = figures[kind, "classic"], figures[kind, "streams"]
        if streams.cold_handovers.most > classic.cold_handovers.most:
            cold.append(
                f"{event} ({count_range(*streams.cold_handovers)} instead of {count_range(*classic.cold_handovers)})"
            )
        on_streams, on_classic = _settles(streams, "streams"), _settles(classic, "classic")
        if on_streams != on_classic:
            settles.append(f"{event} ({on_streams} instead of {on_classic})")
    starts = (
        f"{count_range(*outcome.cold_handovers)} of {count(len(switch.snapshot.state.group.stateful), 'stateful task')}"
    )
    yield (
        f"The switch stops every instance: tasks pause for about {duration(outcome.paused_ms.median)}, and {starts} "
        f"start cold; every task runs after {_settles(outcome, 'streams')}."
    )
    standby_text = count(standbys, "standby", "standbys")
    yield " ".join(
        [
            f"Afterwards, with {standby_text} as now, more tasks start cold than in a classic group: {', '.join(cold)}."
            if cold
            else f"Afterwards, with {standby_text} as now, no more tasks start cold than in a classic group.",
            *([f"Time to settle: {', '.join(settles)}."] if settles else []),
        ]
    )
    yield (
        f"That is simulated for either protocol, {count(switch.draws, 'simulation')} of random member ids each, "
        "from a settled group whose copies have all caught up."
    )


def _settles(figures: SwitchFigures, side: Side) -> str:
    return ", ".join(_settle_cell(figures, side).items)


def _event(switch: Switch, kind: str, names: Names) -> str:
    instance = names.instance(switch.instance)
    return {
        "switch": "the switch",
        "join": f"{switch.add:,} join",
        "bounce": f"bounce of {instance}",
        "crash": f"crash of {instance}",
    }[kind]


def switch_steps(switch: Switch) -> list[str]:
    """Return what to do, as Kafka's documents have it (developer guide, "Migration from Classic Protocol")."""
    group, release = switch.snapshot.state.group, switch.broker_version
    exception = ", not 4.2.0, whose coordinator may fail to load a group that was switched (KAFKA-20254)"
    brokers = f"Brokers of 4.2.1 or later{exception}" if release == "4.2" else f"Brokers of {release}"
    standby_count = min(switch.standbys, _MOST_STANDBYS)
    static = (
        ", and take out group.instance.id: brokers before 4.4 refuse static members"
        if switch.static_members and not BROKER_VERSIONS[release]
        else ""
    )
    by_disks = "by the offsets that clients of 4.4 report of their disks"
    assignment = by_disks if BROKER_VERSIONS[release] else "whatever is on their disks"
    return [
        f"{brokers}, clients of 4.2 or later; in a cluster that is older, kafka-features.sh upgrade --feature "
        "streams.version=1",
        f"The group's own settings: kafka-configs.sh --alter --entity-type groups --entity-name {group.application_id} "
        f"--add-config streams.num.standby.replicas={standby_count}",
        f"Close {'all' if len(group.instances) > 1 else 'the'} {count(len(group.instances), 'instance')}: nothing "
        "runs from now on. A default close() does not leave the group: wait session.timeout.ms "
        f"({duration(switch.snapshot.config.session_timeout_ms)}), until kafka-consumer-groups.sh --describe --state "
        "says Empty",
        f"Set group.protocol=streams in the application{static}",
        "Start them. streams.initial.rebalance.delay.ms (3s) after the first one, the broker assigns all tasks, "
        f"{assignment}",
        "Committed offsets are kept, and topics are as they were. The way back is the same, with "
        "group.protocol=classic",
    ]


def _row(switch: Switch, row: SwitchRow, names: Names) -> Row:
    figures = row.figures
    cold = figures.cold_handovers
    tone: Tone = "bad" if cold.median else "unknown" if cold.most else "plain"
    records = figures.restored_records
    texts = (_event(switch, row.what, names), f"{row.standbys:,}", row.side, count_range(*figures.rebalances))
    return text_row(
        *texts,
        text_cell(count_range(*cold), tone),
        duration(figures.paused_ms.median),
        _settle_cell(figures, row.side),
        text_cell("unknown", "unknown") if records is None else text_cell(count_range(*records)),
        range_text(*figures.paused_ms[1:]),
        "" if figures.runs_ms is None else range_text(*figures.runs_ms[1:]),
    )


def _settle_cell(figures: SwitchFigures, side: Side) -> Cell:
    """Return when every task runs where it stays, restores included; in a classic group as if probes find them done."""
    if figures.settled < figures.draws:
        return text_cell("not settled", "bad")
    if figures.runs_ms is None and side == "classic":
        or_longer = " or longer" if figures.cold_handovers.most else ""
        return text_cell(f"about {duration(figures.at_least_ms.median)}{or_longer}")
    if figures.runs_ms is None:
        return text_cell(f"at least {at_least(figures.at_least_ms.least)}")
    return text_cell(duration(figures.runs_ms.median))


def _tone(rows: Sequence[SwitchRow]) -> Tone:
    """Return red if something does not settle or starts cold, yellow if it may."""
    if any(row.figures.settled < row.figures.draws or row.figures.cold_handovers.median for row in rows):
        return "bad"
    return "unknown" if any(row.figures.cold_handovers.most or row.figures.runs_ms is None for row in rows) else "good"


def switch_remarks(switch: Switch) -> Remarks:
    """Return what is told beside the figures of a switch."""
    return Remarks(tuple(_warnings(switch)), tuple(_notes(switch)), (_assumption(switch),))


def _warnings(switch: Switch) -> Iterator[Note]:
    if len(switch.snapshot.state.group.instances) == 1:
        yield Note(
            "one-instance", "There is one instance: while it restarts, or after a crash, all tasks are unassigned"
        )
    if _more_cold(switch.rows):
        message = "A streams group has no warm-ups: a task that moves to an instance without a copy pauses and restores"
        yield Note("no-warm-ups", message)


def _notes(switch: Switch) -> Iterator[Note]:
    is_set = [f"{setting.name}={setting.value}" for setting in switch.without_effect if setting.is_set]
    other_settings = [setting.name for setting in switch.without_effect if not setting.is_set]
    settings = ", ".join([*is_set, *other_settings])
    yield Note("without-effect", f"Settings of the application without effect in a streams group: {settings}")
    if switch.standbys > _MOST_STANDBYS:
        message = f"num.standby.replicas is {switch.standbys:,}: brokers allow at most {_MOST_STANDBYS} for a group"
        yield Note("standbys-limited", message)
    if not switch.rates_known:
        yield Note("unknown-rate", "The restore rate is unknown, and so is when all tasks run (--restore-rate)")
    if not BROKER_VERSIONS[switch.broker_version]:
        message = "Brokers before 4.4 do not know what is on an instance's disk: a restarted one gets other tasks"
        yield Note("disks-unknown", message)


def _assumption(switch: Switch) -> Note:
    message = (
        f"Nothing runs for {duration(switch.away_ms)} while the group is switched (--restart, or session.timeout.ms), "
        f"and a bounce takes {duration(switch.restart_ms)}. Member ids are random: figures are those of a typical "
        "simulation, ranges are over all. Times are typical, give or take a heartbeat interval for each rebalance. The "
        "group has the brokers' default settings"
    )
    return Note("switch-assumed", message)


def _more_cold(rows: Sequence[SwitchRow]) -> bool:
    cold = {(row.what, row.standbys, row.side): row.figures.cold_handovers.most for row in rows}
    return any(
        number > cold.get((subject, standbys, "classic"), number)
        for (subject, standbys, side), number in cold.items()
        if side == "streams"
    )
