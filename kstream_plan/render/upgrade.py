"""The way to the cooperative protocol, as text for a terminal, as Markdown, as JSON."""

from __future__ import annotations

import json
from typing import Any

from kstream_plan.designs.classic import MODELS
from kstream_plan.documents.plan.fields import FORMAT_VERSION
from kstream_plan.documents.remarks import remarks_json
from kstream_plan.model import Group
from kstream_plan.protocols.upgrade import Upgrade
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.markdown import to_markdown
from kstream_plan.render.pages.upgrade import upgrade_page, upgrade_remarks
from kstream_plan.render.terminal import to_terminal
from kstream_plan.version import __version__


def upgrade_table(
    upgrade: Upgrade, group: Group, *, width: int = DEFAULT_WIDTH, colour: bool = False, one_bounce: bool = False
) -> str:
    """Return the restarts, or, for ``one_bounce``, why there have to be two, as lines of text, each ended."""
    return to_terminal(upgrade_page(upgrade, group, one_bounce=one_bounce), width=width, colour=colour)


def upgrade_markdown(upgrade: Upgrade, group: Group, *, one_bounce: bool = False) -> str:
    """Return the same as Markdown."""
    return to_markdown(upgrade_page(upgrade, group, one_bounce=one_bounce))


def upgrade_json(upgrade: Upgrade, group: Group) -> str:
    """Return the same as one line of JSON, described by ``documents/schemas/upgrade.json``, without the line end."""
    wrong = upgrade.one_bounce
    document: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "kind": "upgrade",
        "application_id": group.application_id,
        "tool": {"name": "kstream-plan", "version": __version__, "models": MODELS},
        "restarts": [restart._asdict() for restart in upgrade.restarts],
        "cannot_mix": [
            {"process_id": process_id, "consumer_id": consumer_id, "reason": reason}
            for process_id, consumer_id, reason in upgrade.cannot_mix
        ],
        "untold": [
            {"process_id": process_id, "consumer_id": consumer_id} for process_id, consumer_id in upgrade.untold
        ],
        "split": [{"process_id": process_id, "consumer_id": consumer_id} for process_id, consumer_id in upgrade.split],
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
        **remarks_json(upgrade_remarks(upgrade)),
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
