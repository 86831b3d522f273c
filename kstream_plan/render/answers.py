"""Any answer as text or JSON: its page is made by the function that is registered for its type, and drawn."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from kstream_plan.answers.formats import document_of
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

#: The name of a result's type → the kind of its document, and the module of its page, which makes the words in it.
_DOCUMENTS: dict[str, tuple[str, str]] = {
    "Bounces": ("bounce", "bounce"),
    "Comparison": ("diff", "diff"),
    "Drain": ("drain", "drain"),
    "Outcomes": ("compare", "compare"),
    "SaidAndHappened": ("said-and-happened", "happened"),
    "SessionedUpgrade": ("sessioned", "sessioned"),
    "Switch": ("switch", "switch"),
    "Why": ("why", "why"),
    "WorkersDrained": ("drain-workers", "drain_workers"),
}


def page_of(answer: Any, *, verbose: bool = False) -> Page:
    """Return the page of an answer; ``verbose`` adds what only experts ask.

    Raises:
        TypeError: nothing makes a page of such a value.
    """
    module, name = PAGES[_kind(answer, PAGES)]
    page: Page = getattr(_page_module(module), name)(answer, verbose=verbose)
    return page


def _kind(answer: object, kinds: Mapping[str, Any]) -> str:
    for kind in type(answer).__mro__:
        if kind.__name__ in kinds:
            return kind.__name__
    raise TypeError(f"there is no page or document of a {type(answer).__name__}")


def _page_module(name: str) -> ModuleType:
    return import_module(f"kstream_plan.render.pages.{name}")


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


def to_json(answer: Any, *, view: bool = False) -> str:
    """Return an answer as one line of ASCII, without the line end; ``kstream-plan schema`` describes it.

    Args:
        answer: what a function of the public API returns.
        view: add to a comparison what the leader and the members saw.

    Raises:
        TypeError: there is no document of such a value.
    """
    kind, module = _DOCUMENTS[_kind(answer, _DOCUMENTS)]
    document, page = document_of(kind), _page_module(module)
    remarks, *words = (getattr(page, f"{module}_{name}")(answer) for name in ("remarks", *document.words))
    return document.line(answer, remarks, extra=view, **dict(zip(document.words, words, strict=True)))
