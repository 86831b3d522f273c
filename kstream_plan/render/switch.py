"""Whether to become a streams group, as text for a terminal, as Markdown, as JSON: the steps, and either side."""

from __future__ import annotations

import json
from collections.abc import Sequence

from kstream_plan.documents.codec import Json
from kstream_plan.model.streams_group import BROKER_VERSIONS, GROUP_SETTINGS
from kstream_plan.plans.simulated import Range
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.plan.fleet import Column, markdown_overview, overview
from kstream_plan.render.text.escape import MARKDOWN, TERMINAL, Escape
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import at_least, count, duration, from_to, interval
from kstream_plan.render.text.wrapping import paragraph, wrapped
from kstream_plan.simulation.switch import Switch, SwitchFigures, SwitchRow
from kstream_plan.version import __version__

_FORMAT_VERSION = "1.0"
_MOST_STANDBYS = GROUP_SETTINGS["streams_num_standby_replicas"][3]
_COLUMNS = (
    (Column("what"), ""),
    (Column("standbys", right=True), ""),
    (Column("by"), ""),
    (Column("rebal.", right=True), "rebalances; of a streams group the targets that its broker computes"),
    (Column("cold", right=True), "tasks that start cold: they restore before they run"),
    (Column("restored", right=True), "records, standbys and warm-ups included"),
    (Column("still", right=True), "longest that a task stands still, what it restores before it runs not counted"),
    (Column("all run", right=True), "when every task runs where it stays, restores included"),
)


def switch_table(found: Switch, *, width: int = DEFAULT_WIDTH, colour: bool = False) -> str:
    """Return the steps, a line for everything that happens on each side, and what there is to know, lines ended."""
    lines = paragraph(_heading(found, TERMINAL), width)
    for number, step in enumerate(_steps(found, _name(found, TERMINAL)), start=1):
        lines += paragraph(step, width, f"  {number}. ", "     ")
    columns, names = [column for column, _ in _COLUMNS], Names(found.snapshot.state.group, TERMINAL)
    rows = [_cells(found, row, names) for row in found.rows]
    bad = [_is_bad(row.figures) for row in found.rows]
    table = overview(_sides(found), columns, rows, bad, width=width, colour=colour)
    below = wrapped([f"{column.head}: {said}" for column, said in _COLUMNS if said], "; ", width, "", "  ")
    for remark in _remarks(found, TERMINAL):
        below += paragraph(remark, width, "! ", "  ")
    return "\n".join([*lines, "", table + "\n".join(below)]) + "\n"


def switch_markdown(found: Switch) -> str:
    """Return the same as Markdown."""
    names = Names(found.snapshot.state.group, MARKDOWN)
    steps = "\n".join(f"{number}. {step}" for number, step in enumerate(_steps(found, _name(found, MARKDOWN)), start=1))
    rows = [_cells(found, row, names) for row in found.rows]
    parts = [
        f"### {_heading(found, MARKDOWN)}\n",
        f"{steps}\n",
        markdown_overview(_sides(found), [column for column, _ in _COLUMNS], rows),
        "; ".join(f"{column.head}: {said}" for column, said in _COLUMNS if said) + "\n",
        "".join(f"- {remark}\n" for remark in _remarks(found, MARKDOWN)),
    ]
    return "\n".join(parts)


def switch_json(found: Switch) -> str:
    """Return the same as one line of JSON, described by ``documents/schemas/switch.json``, without the line end."""
    snapshot = found.snapshot
    document: dict[str, Json] = {
        "format_version": _FORMAT_VERSION,
        "kind": "switch",
        "application_id": snapshot.state.group.application_id,
        "tool": {"name": "kstream-plan", "version": __version__, "models": found.models},
        "input": {
            "snapshot_digest": found.snapshot_digest,
            "generation": snapshot.state.generation,
            "captured_at": snapshot.captured_at,
        },
        "broker_version": found.broker_version,
        "offline": True,
        "steps": list(_steps(found, group_name=snapshot.state.group.application_id)),
        "away_ms": found.away_ms,
        "restart_ms": found.restart_ms,
        "joining": found.add,
        "instance": found.instance,
        "draws": found.draws,
        "without_effect": [one._asdict() for one in found.without_effect],
        "rows": [
            {"what": row.what, "standbys": row.standbys, "side": row.side, **_figures(row.figures)}
            for row in found.rows
        ],
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _figures(of: SwitchFigures) -> dict[str, Json]:
    def ends(figure: Range | None) -> Json:
        return None if figure is None else figure._asdict()

    return {
        "draws": of.draws,
        "settled": of.settled,
        "rebalances": ends(of.rebalances),
        "cold_handovers": ends(of.cold_handovers),
        "restored_records": ends(of.restored_records),
        "slowest_restore_ms": ends(of.slowest_ms),
        "max_paused_ms": ends(of.paused_ms),
        "runs_ms": ends(of.runs_ms),
        "at_least_ms": ends(of.at_least_ms),
    }


def _heading(found: Switch, escape: Escape) -> str:
    group = found.snapshot.state.group
    return (
        f"{_name(found, escape)}: "
        f"{count(len(group.instances), 'instance')}, {count(len(group.tasks), 'task')}, to a streams group at brokers "
        f"of {found.broker_version}: offline, for no release up to 4.4 switches a group that runs"
    )


def _name(found: Switch, escape: Escape) -> str:
    return escape.name(found.snapshot.state.group.application_id)


def _sides(found: Switch) -> str:
    return (
        f"What happens then, on either side, {count(found.draws, 'draw')} of the ids each "
        "(both settled before, every copy caught up):"
    )


def _steps(found: Switch, group_name: str) -> list[str]:
    """Return what to do, as Kafka's documents have it (developer guide, "Migration from Classic Protocol")."""
    group, release = found.snapshot.state.group, found.broker_version
    fixed = ", not 4.2.0, whose coordinator may fail to load a group that was switched (KAFKA-20254)"
    brokers = f"Brokers of 4.2.1 or later{fixed}" if release == "4.2" else f"Brokers of {release}"
    wanted = min(found.standbys, _MOST_STANDBYS)
    seconds = interval(found.snapshot.config.session_timeout_ms)
    static = (
        ", and take out group.instance.id: brokers before 4.4 refuse static members"
        if found.static_members and not BROKER_VERSIONS[release]
        else ""
    )
    dealt = (
        "by the offsets that clients of 4.4 report of their disks"
        if BROKER_VERSIONS[release]
        else "whatever is on their disks"
    )
    return [
        f"{brokers}, clients of 4.2 or later; in a cluster that is older, kafka-features.sh upgrade --feature "
        "streams.version=1",
        f"The group's own settings: kafka-configs.sh --alter --entity-type groups --entity-name {group_name} "
        f"--add-config streams.num.standby.replicas={wanted}",
        f"Close {'all' if len(group.instances) > 1 else 'the'} {count(len(group.instances), 'instance')}: nothing "
        f"runs from now on. A default close() does not leave the group: wait session.timeout.ms ({seconds}), until "
        "kafka-consumer-groups.sh --describe --state says Empty",
        f"Set group.protocol=streams in the application{static}",
        f"Start them. streams.initial.rebalance.delay.ms (3 s) after the first one, the broker deals out all tasks, "
        f"{dealt}",
        "Committed offsets are kept, and topics are as they were. The way back is the same, with "
        "group.protocol=classic",
    ]


def _cells(found: Switch, row: SwitchRow, names: Names) -> tuple[str, ...]:
    of = row.figures
    what = {
        "switch": "the switch",
        "join": f"{found.add:,} join",
        "bounce": f"bounce of {names.instance(found.instance)}",
        "crash": f"crash of {names.instance(found.instance)}",
    }[row.what]
    if of.settled < of.draws:
        runs = "not settled"
    else:
        runs = f"≥ {at_least(of.at_least_ms.least)}" if of.runs_ms is None else duration(of.runs_ms.most)
    return (
        what,
        f"{row.standbys}",
        row.side,
        from_to(*of.rebalances[1:]),
        from_to(*of.cold_handovers[1:]),
        "?" if of.restored_records is None else f"{of.restored_records.most:,}",
        duration(of.paused_ms.most),
        runs,
    )


def _is_bad(of: SwitchFigures) -> bool:
    return of.settled < of.draws or of.cold_handovers.most > 0


def _remarks(found: Switch, escape: Escape) -> list[str]:
    said = [f"{one.name}={one.value}" for one in found.without_effect if one.is_set]
    others = [one.name for one in found.without_effect if not one.is_set]
    told = f"{', '.join(said)}, and {', '.join(others)}" if said else ", ".join(others)
    remarks = [f"Settings of the application without effect in a streams group: {escape.sentence(told)}"]
    if found.standbys > _MOST_STANDBYS:
        remarks.append(f"num.standby.replicas is {found.standbys}: brokers take {_MOST_STANDBYS} for a group at most")
    if len(found.snapshot.state.group.instances) == 1:
        remarks.append("There is one instance: while it is restarted, or after a crash, nobody runs anything")
    if _more_cold(found.rows):
        remarks.append(
            "A streams group has no warm-ups: a task that moves to an instance without a copy stands still while it "
            "restores"
        )
    if not found.rates_known:
        remarks.append("No restore rate is known: when everything runs is not either (--restore-rate)")
    if not BROKER_VERSIONS[found.broker_version]:
        remarks.append(
            "Brokers before 4.4 do not know what is on the disks of who starts: whoever is restarted gets other tasks"
        )
    longest = interval(found.away_ms)
    remarks.append(
        f"Assumed: nobody runs for {longest} while it is switched (--restart, or the session time-out), and a bounce "
        f"takes {interval(found.restart_ms)}. Ids of members are random, so which task goes where is one of many; of "
        "all draws the worst is shown. Times are typical, give or take a heartbeat interval for each hand-over. The "
        "group has the brokers' default settings"
    )
    return remarks


def _more_cold(rows: Sequence[SwitchRow]) -> bool:
    cold = {(row.what, row.standbys, row.side): row.figures.cold_handovers.most for row in rows}
    return any(
        number > cold.get((what, standbys, "classic"), number)
        for (what, standbys, side), number in cold.items()
        if side == "streams"
    )
