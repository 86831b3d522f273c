"""Two plans of one snapshot: their first lines side by side, for neither follows the other."""

from __future__ import annotations

from itertools import takewhile, zip_longest

from kstream_plan.plans import Plan
from kstream_plan.render.plan.table import table
from kstream_plan.render.text.escape import fenced
from kstream_plan.render.text.wrapping import padded, paragraph

_GAP = "   "
_LEAST_WIDTH = 60
_MARKDOWN_WIDTH = 80
_SAID = "Both plans begin with the same snapshot: neither follows the other, so compare them:"


def rivals_table(old: Plan, new: Plan, *, width: int) -> str:
    """Return the first lines of both plans side by side, or where there is no room below each other, lines ended."""
    room = (width - len(_GAP)) // 2
    lines = [*paragraph(_SAID, max(width, _LEAST_WIDTH)), ""]
    if room < _LEAST_WIDTH:
        for name, plan in (("OLD", old), ("NEW", new)):
            lines += [name, *_first_lines(plan, max(width, _LEAST_WIDTH)), ""]
        return "\n".join(lines[:-1]) + "\n"
    columns = ["OLD", *_first_lines(old, room)], ["NEW", *_first_lines(new, room)]
    for left, right in zip_longest(*columns, fillvalue=""):
        lines.append((padded(left, room) + _GAP + right).rstrip())
    return "\n".join(lines) + "\n"


def rivals_markdown(old: Plan, new: Plan) -> str:
    """Return the same as Markdown, its lines ended."""
    blocks = [
        f"**{name}**\n\n{fenced(chr(10).join(_first_lines(of, _MARKDOWN_WIDTH)))}"
        for name, of in (("OLD", old), ("NEW", new))
    ]
    return "\n\n".join([_SAID, *blocks]) + "\n"


def _first_lines(plan: Plan, width: int) -> list[str]:
    return list(takewhile(bool, table(plan, width=width).splitlines()))
