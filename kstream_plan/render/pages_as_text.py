"""Fleets, and the way to the cooperative protocol, as text for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from kstream_plan.model import Group
from kstream_plan.plans.result import Result
from kstream_plan.protocols.upgrade import Upgrade
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.markdown import to_markdown
from kstream_plan.render.pages.fleet import fleet_page
from kstream_plan.render.pages.upgrade import upgrade_page
from kstream_plan.render.terminal import to_terminal


def fleet_table(
    all_results: Sequence[Result], selection: Sequence[Result], *, width: int = DEFAULT_WIDTH, colour: bool = False
) -> str:
    """Return the page as lines of text, each ended."""
    return to_terminal(fleet_page(all_results, selection), width=width, colour=colour)


def fleet_markdown(all_results: Sequence[Result], selection: Sequence[Result]) -> str:
    """Return the page as Markdown."""
    return to_markdown(fleet_page(all_results, selection))


def upgrade_table(
    upgrade: Upgrade, group: Group, *, width: int = DEFAULT_WIDTH, colour: bool = False, one_bounce: bool = False
) -> str:
    """Return the restarts, or, for ``one_bounce``, why there have to be two, as lines of text, each ended."""
    return to_terminal(upgrade_page(upgrade, group, one_bounce=one_bounce), width=width, colour=colour)


def upgrade_markdown(upgrade: Upgrade, group: Group, *, one_bounce: bool = False) -> str:
    """Return the same as Markdown."""
    return to_markdown(upgrade_page(upgrade, group, one_bounce=one_bounce))
