"""Any answer as text: its page is made by the function that is registered for its type, and drawn."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.markdown import to_markdown as page_to_markdown
from kstream_plan.render.page import Page
from kstream_plan.render.terminal import to_terminal

#: The name of a result's type → the module and the function that make its page.
PAGES: dict[str, tuple[str, str]] = {
    "Bounces": ("bounce", "bounce_page"),
    "Drain": ("drain", "drain_page"),
    "WorkersDrained": ("drain_workers", "drain_workers_page"),
    "Plan": ("plan", "plan_page"),
    "Comparison": ("diff", "diff_page"),
    "Outcomes": ("compare", "compare_page"),
    "SaidAndHappened": ("happened", "happened_page"),
    "SessionedUpgrade": ("sessioned", "sessioned_page"),
    "Simulation": ("plan", "simulation_page"),
    "Switch": ("switch", "switch_page"),
    "Why": ("why", "why_page"),
}


def page_of(answer: Any, *, verbose: bool = False) -> Page:
    """Return the page of an answer; ``verbose`` adds what only experts ask.

    Raises:
        TypeError: nothing makes a page of such a value.
    """
    for kind in type(answer).__mro__:
        if kind.__name__ in PAGES:
            module, name = PAGES[kind.__name__]
            make_page = getattr(import_module(f"kstream_plan.render.pages.{module}"), name)
            page: Page = make_page(answer, verbose=verbose)
            return page
    raise TypeError(f"there is no page of a {type(answer).__name__}")


def to_table(answer: Any, *, width: int = DEFAULT_WIDTH, colour: bool = False, verbose: bool = False) -> str:
    """Return an answer as lines of text for a terminal, each ended.

    Args:
        answer: a plan, a simulation, or what another function of the public API returns.
        width: columns; at least 40 are taken.
        colour: add terminal control codes; else there are none.
        verbose: add what only experts ask, such as every step of a plan with its reason.
    """
    return to_terminal(page_of(answer, verbose=verbose), width=width, colour=colour)


def to_markdown(answer: Any, *, verbose: bool = False) -> str:
    """Return an answer as GitHub-flavoured Markdown, its lines ended; arguments as of :func:`to_table`."""
    return page_to_markdown(page_of(answer, verbose=verbose))
