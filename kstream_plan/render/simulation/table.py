"""A simulation as text for a terminal: at most ``width`` columns, colour only where asked for."""

from __future__ import annotations

from rich.cells import cell_len

from kstream_plan.plans.simulated import Simulation
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.pages.steps import Focus, details
from kstream_plan.render.report.picture import picture_lines
from kstream_plan.render.simulation.story import Alternatives, tell_simulation
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.page import coloured, fact_lines, title_lines
from kstream_plan.render.text.wrapping import paragraph, wrapped

_NARROWEST = 60


def simulation_table(
    simulated: Simulation,
    *,
    width: int = DEFAULT_WIDTH,
    colour: bool = False,
    verbose: bool = False,
    record_size: int | None = None,
) -> str:
    """Return a simulation as lines of text, each ended; arguments as of :func:`kstream_plan.render.plan.table.table`.

    ``record_size`` in bytes adds the amount that is restored (default: that of the simulation).
    """
    names = Names(simulated.plan.group)
    story = tell_simulation(simulated, names, record_size)
    width = max(width, _NARROWEST)
    lines = [*title_lines(story.title, width), *(text for fact in story.facts for text in fact_lines(fact, width))]
    if story.picture is not None:
        lines += ["", *picture_lines(story.picture, width), f" {story.ending}"]
    lines += [text for told in story.events for text in paragraph(told, width, " ", "         ")]
    lines += paragraph(f"CURE {story.cure}", width, " ", "      ") if story.cure else []
    lines += [text for of in story.alternatives for text in _alternatives(of, width)]
    lines += [text for remark in story.remarks for text in paragraph(remark, width, " ! ", "   ")]
    for detail in details(simulated.plan, names, Focus()) if verbose else ():
        lines += ["", *paragraph(detail.heading, width, "", "  ")]
        lines += [part for text in detail.sentences for part in paragraph(text, width, "  ", "    ")]
    text = "\n".join(line.rstrip() for line in lines) + "\n"
    return coloured(text) if colour else text


def _alternatives(of: Alternatives, width: int) -> list[str]:
    first, *others = of.outcomes
    room = width - len(of.remark)
    lines = wrapped([f"{of.setting}={first}", *others], " | ", room, " IF ", "    ")
    lines[-1] += of.remark if cell_len(lines[-1]) + len(of.remark) <= width else ""
    return lines
