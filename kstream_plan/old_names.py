"""Public names for one kind of answers each, which warn until 0.3.0 takes them away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kstream_plan.model import Group
from kstream_plan.plans.result import Result
from kstream_plan.protocols.upgrade import Upgrade
from kstream_plan.render.answers import to_json, to_markdown, to_table
from kstream_plan.render.markdown import to_markdown as page_to_markdown
from kstream_plan.render.pages.fleet import fleet_page
from kstream_plan.render.pages.upgrade import upgrade_page
from kstream_plan.render.terminal import to_terminal

_NEW: dict[str, Callable[..., str]] = {"to_json": to_json, "to_markdown": to_markdown, "to_table": to_table}
_KINDS = (
    "bounce",
    "check",
    "compare",
    "diff",
    "drain",
    "said_and_happened",
    "sessioned",
    "simulation",
    "switch",
    "why",
    "workers_drained",
)


def _fleet_to_table(all_results: Sequence[Result], selection: Sequence[Result], **shape: Any) -> str:
    return to_terminal(fleet_page(all_results, selection), **shape)


def _fleet_to_markdown(all_results: Sequence[Result], selection: Sequence[Result]) -> str:
    return page_to_markdown(fleet_page(all_results, selection))


def _upgrade_to_table(upgrade: Upgrade, group: Group, *, one_bounce: bool = False, **shape: Any) -> str:
    return to_terminal(upgrade_page(upgrade._replace(group=group), one_bounce=one_bounce), **shape)


def _upgrade_to_markdown(upgrade: Upgrade, group: Group, *, one_bounce: bool = False) -> str:
    return page_to_markdown(upgrade_page(upgrade._replace(group=group), one_bounce=one_bounce))


#: Name → the function.
OLD: dict[str, Callable[..., str]] = {
    **{f"{kind}_{name}": function for kind in _KINDS for name, function in _NEW.items()},
    "check_to_json": lambda check: f"{to_json(check)}\n",
    "fleet_to_markdown": _fleet_to_markdown,
    "fleet_to_table": _fleet_to_table,
    "upgrade_to_json": lambda upgrade, group, command=str: to_json(upgrade._replace(group=group), command=command),
    "upgrade_to_markdown": _upgrade_to_markdown,
    "upgrade_to_table": _upgrade_to_table,
}
