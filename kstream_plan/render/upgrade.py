"""The way to the cooperative protocol, as text for a terminal, as Markdown, as JSON."""

from __future__ import annotations

import json

from kstream_plan.designs.classic import MODELS
from kstream_plan.documents.plan.fields import FORMAT_VERSION
from kstream_plan.model import Group
from kstream_plan.plans import Role, Seat
from kstream_plan.protocols.interleavings import Action, Interleaved
from kstream_plan.protocols.upgrade import TwoOwners, Upgrade
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.text.escape import MARKDOWN, TERMINAL, Escape
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count
from kstream_plan.render.text.wrapping import paragraph
from kstream_plan.version import __version__

_WHAT = {1: "list cooperative beside eager", 2: "list cooperative only"}
_WHY_TWO = (
    "One bounce is not enough: a leader of old code does not read what a restarted member still owns, and gives it "
    "to somebody else"
)


_UNTOLD = (
    "the snapshot does not say what its consumers list (protocols). Without upgrade.from all are, since Kafka Streams "
    "2.4"
)
_SPLIT = (
    "! TASKS MAY HAVE TWO OWNERS NOW: these list cooperative only, and others do not list it at all. They are "
    "restarted first"
)


def upgrade_table(found: Upgrade, group: Group, *, width: int = DEFAULT_WIDTH, one_bounce: bool = False) -> str:
    """Return the restarts, or, for ``one_bounce``, why there have to be two, as lines of text, each ended."""
    lines = []
    for heading, items in _sections(found, group, TERMINAL, one_bounce):
        lines += paragraph(heading, width)
        for item in items:
            lines += paragraph(item, width, "  ", "    ")
    return "\n".join(lines) + "\n"


def upgrade_markdown(found: Upgrade, group: Group, *, one_bounce: bool = False) -> str:
    """Return the same as Markdown."""
    (title, _), *sections = _sections(found, group, MARKDOWN, one_bounce)
    blocks = [f"### {title}"]
    for heading, items in sections:
        blocks.append(f"**{heading}**")
        blocks += ["\n".join(f"{number}. {item}" for number, item in enumerate(items, start=1))] if items else []
    return "\n\n".join(blocks) + "\n"


def upgrade_json(found: Upgrade, group: Group) -> str:
    """Return the same as one line of JSON, described by ``documents/schemas/upgrade.json``, without the line end."""
    wrong = found.one_bounce
    document = {
        "format_version": FORMAT_VERSION,
        "kind": "upgrade",
        "application_id": group.application_id,
        "tool": {"name": "kstream-plan", "version": __version__, "models": MODELS},
        "restarts": [restart._asdict() for restart in found.restarts],
        "cannot_mix": [
            {"process_id": process_id, "consumer_id": consumer_id, "reason": why}
            for process_id, consumer_id, why in found.cannot_mix
        ],
        "untold": [{"process_id": process_id, "consumer_id": of} for process_id, of in found.untold],
        "split": [{"process_id": process_id, "consumer_id": of} for process_id, of in found.split],
        "one_bounce": wrong
        and {
            "task_id": str(wrong.task_id),
            "events": [
                {
                    "process_id": wrong.consumers[event.member][0],
                    "consumer_id": wrong.consumers[event.member][1],
                    "action": event.action.value,
                    "owned": sorted(map(str, event.owned)),
                }
                for event in wrong.events
            ],
        },
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _sections(found: Upgrade, group: Group, escape: Escape, one_bounce: bool) -> list[tuple[str, list[str]]]:
    names = Names(group, escape)
    application = names.escape(group.application_id)
    if len(found.untold) == len(group.consumer_ids) and not one_bounce:
        heading = f"{application}: NOT KNOWN whether it is cooperative already: {_UNTOLD}. Else"
        sections: list[tuple[str, list[str]]] = [(f"{heading} to cooperative in two rolling bounces", [])]
        sections += _bounces(found, names)
    elif not found.restarts:
        sections = [(f"{application}: the group is cooperative already", [])]
    elif one_bounce and found.takes_two:
        sections = [(f"{application}: REFUSED, an upgrade takes two rolling bounces", [])]
    else:
        consumers = count(len(group.consumer_ids), "consumer")
        bounces = "two rolling bounces" if found.takes_two else "one more rolling bounce"
        sections = [(f"{application}: to cooperative in {bounces}, {consumers}", [])]
        sections += _bounces(found, names)
    if found.takes_two:
        sections.append((_WHY_TWO, _story(found.one_bounce, names) if found.one_bounce else []))
    if found.split:
        sections.insert(1, (_SPLIT, [names.escape(consumer_id) for _, consumer_id in found.split]))
    if found.untold and len(found.untold) < len(group.consumer_ids):
        told = "! It is not known what these list (protocols in the snapshot), so that they count as eager"
        sections.append((told, [names.escape(consumer_id) for _, consumer_id in found.untold]))
    if found.cannot_mix:
        lines = [
            f"{names.escape(consumer_id)}: {names.escape_message(why)}" for _, consumer_id, why in found.cannot_mix
        ]
        sections.append(("! CANNOT take part; take them out of the group before the first bounce", lines))
    return sections


def _bounces(found: Upgrade, names: Names) -> list[tuple[str, list[str]]]:
    """Return the restarts of each bounce, and what the group then follows."""
    return [
        (
            f"BOUNCE {bounce}: {what}",
            [
                f"{names.instance(of.process_id)} → group {of.group_protocol}"
                + (f", {of.cooperative_consumers:,} consumers cooperative" if of.group_protocol == "mixed" else "")
                for of in found.restarts
                if of.bounce == bounce
            ]
            or ["done"],
        )
        for bounce, what in _WHAT.items()
    ]


def _story(wrong: TwoOwners, names: Names) -> list[str]:
    """Tell the order of steps in which one bounce gives a task two owners."""
    seats = [names.seat(Seat(*place, Role.ACTIVE)) for place in wrong.consumers]
    task = names.task(wrong.task_id)
    told = [f"{seats[0]} has been restarted and lists cooperative only; {seats[1]} has not, and leads"]
    told += [_event(event, seats, task) for event in wrong.events]
    joined = max(place for place, event in enumerate(wrong.events, start=1) if event.action is Action.JOINS)
    told.insert(joined + 1, f"{seats[1]} decides: {task} goes to {seats[1]}, at once")
    return [*told, f"{task} has two owners: {seats[0]} runs it until it gets its own assignment"]


def _event(event: Interleaved, seats: list[str], task: str) -> str:  # type: ignore[type-arg]
    if event.action is Action.JOINS:
        return f"{seats[event.member]} joins" + (f" and keeps {task}" if event.owned else " and owns nothing any more")
    return f"{seats[event.member]} gets its assignment" + (f" and starts {task}" if event.owned else "")
