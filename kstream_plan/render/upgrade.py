"""The way to the cooperative protocol, as text for a terminal, as Markdown, as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from kstream_plan.designs.classic import MODELS
from kstream_plan.documents.codec import Json
from kstream_plan.documents.plan.fields import FORMAT_VERSION
from kstream_plan.model import Group
from kstream_plan.protocols.upgrade import Upgrade
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.json_document import document_line, plain
from kstream_plan.render.markdown import to_markdown
from kstream_plan.render.pages.upgrade import upgrade_page, upgrade_remarks
from kstream_plan.render.terminal import to_terminal


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
    answer_fields = {
        "restarts": plain(upgrade.restarts),
        **{name: list(map(_place, getattr(upgrade, name))) for name in ("cannot_mix", "untold", "split")},
        "one_bounce": wrong
        and {
            "task_id": str(wrong.task_id),
            "events": [
                {
                    **_place(wrong.consumers[event.member]),
                    "action": event.action.value,
                    "owned": sorted(map(str, event.owned)),
                }
                for event in wrong.events
            ],
        },
        **plain(upgrade_remarks(upgrade)),
    }
    return document_line("upgrade", FORMAT_VERSION, group.application_id, MODELS, answer_fields)


def _place(place: Sequence[str]) -> dict[str, Json]:
    """Return a consumer, and why it cannot take part if it cannot."""
    return dict(zip(("process_id", "consumer_id", "reason"), place, strict=False))
