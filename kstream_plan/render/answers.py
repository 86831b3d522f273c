"""Any answer as text or JSON: its page is made by the function that is registered for its type, and drawn."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from kstream_plan.answers.formats import document_of
from kstream_plan.model.note import Command, Remarks
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.markdown import to_markdown as page_to_markdown
from kstream_plan.render.page import Page
from kstream_plan.render.terminal import to_terminal

#: The name of a result's type → the module of its page, and of the words in its document.
PAGES = {
    "Bounces": "bounce",
    "Comparison": "diff",
    "Drain": "drain",
    "Outcomes": "compare",
    "Plan": "plan",
    "SaidAndHappened": "happened",
    "SessionedUpgrade": "sessioned",
    "Simulation": "plan",
    "Switch": "switch",
    "Why": "why",
    "WorkersDrained": "drain_workers",
}
#: Pages that have more for experts.
_WITH_DETAILS = {"compare", "diff", "drain", "happened", "plan"}


def page_of(answer: Any, *, verbose: bool = False) -> Page:
    """Return the page of an answer; ``verbose`` adds what only experts ask.

    Raises:
        TypeError: nothing makes a page of such a value.
    """
    name, module = _page_module(answer)
    page: Page = getattr(module, f"{name}_page")(answer, **{"verbose": verbose} if name in _WITH_DETAILS else {})
    return page


def _page_module(answer: object) -> tuple[str, ModuleType]:
    for kind in type(answer).__mro__:
        if name := PAGES.get(kind.__name__):
            return name, import_module(f"kstream_plan.render.pages.{name}")
    raise TypeError(f"there is no page or document of a {type(answer).__name__}")


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


def to_json(answer: Any, *, view: bool = False, command: Command = str) -> str:
    """Return an answer as one line of ASCII, without the line end; ``kstream-plan schema`` describes it.

    Args:
        answer: what a function of the public API returns.
        view: add to a comparison what the leader and the members saw.
        command: completes each command, which has ``SNAPSHOT`` for the snapshot's path.

    Raises:
        TypeError: there is no document of such a value.
    """
    name, page = _page_module(answer)
    if name == "plan":
        raise TypeError(f"there is no document of a {type(answer).__name__} here")
    document = document_of("said-and-happened" if name == "happened" else name.replace("_", "-"))
    remarks: Remarks = answer.remarks if hasattr(answer, "remarks") else getattr(page, f"{name}_remarks")(answer)
    words = {word: getattr(page, f"{name}_{word}")(answer) for word in document.words}
    return document.line(answer, remarks.completed(command), extra=view, **words)
