"""Any answer as text or JSON: its page is made by the function that is registered for its type, and drawn."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from kstream_plan.model.note import Command, Remarks
from kstream_plan.plans import Plan
from kstream_plan.plans.result import Result
from kstream_plan.render import DEFAULT_WIDTH
from kstream_plan.render.page import Page
from kstream_plan.render.terminal import to_terminal

#: The name of a result's type → the module of its page, and of the words in its document.
PAGES = {
    "Bounces": "bounce",
    "TargetCheck": "check_target",
    "TargetExport": "export_target",
    "Comparison": "diff",
    "Drain": "drain",
    "Event": "follow",
    "Outcomes": "compare",
    "Plan": "plan",
    "SaidAndHappened": "happened",
    "SessionedUpgrade": "sessioned",
    "Simulation": "plan",
    "Switch": "switch",
    "Upgrade": "upgrade",
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
    if are_results(answer):
        from kstream_plan.render.pages.fleet import fleet_page  # noqa: PLC0415 - not for a single answer

        return fleet_page(answer, answer)
    name, module = _page_module(answer)
    page: Page = getattr(module, f"{name}_page")(answer, **{"verbose": verbose} if name in _WITH_DETAILS else {})
    return page


def are_results(answer: Any) -> bool:
    """Tell whether it is a list of results of applications."""
    return type(answer) is list and all(isinstance(entry, Result) for entry in answer)


def _is_check(answer: object) -> bool:
    return type(answer).__name__ == "Check"


def _check_report(form: str, answer: Any) -> str:
    return str(import_module("kstream_plan.render.check").REPORTS[form](answer))


def _page_module(answer: object) -> tuple[str, ModuleType]:
    for kind in type(answer).__mro__:
        if name := PAGES.get(kind.__name__):
            return name, import_module(f"kstream_plan.render.pages.{name}")
    raise TypeError(f"there is no page or document of a {type(answer).__name__}")


def to_table(answer: Any, *, width: int = DEFAULT_WIDTH, colour: bool = False, verbose: bool = False) -> str:
    """Return an answer as lines of text for a terminal, each ended.

    Args:
        answer: a plan, a check, a list of results, or what else the public API returns.
        width: columns; at least 40 are taken.
        colour: add terminal control codes; else there are none.
        verbose: add what only experts ask, such as every step of a plan with its reason.
    """
    if _is_check(answer):
        return str(import_module("kstream_plan.render.check.table").table_report(answer, width=width, colour=colour))
    return to_terminal(page_of(answer, verbose=verbose), width=width, colour=colour)


def to_markdown(answer: Any, *, verbose: bool = False) -> str:
    """Return an answer as GitHub-flavoured Markdown, its lines ended; arguments as of :func:`to_table`."""
    from kstream_plan.render import markdown  # noqa: PLC0415 - most are shown as tables

    return (
        _check_report("markdown", answer)
        if _is_check(answer)
        else markdown.to_markdown(page_of(answer, verbose=verbose))
    )


def to_html(answer: Any) -> str:
    """Return an answer as a page of HTML that needs nothing but itself, with drawings; its lines ended."""
    if _is_check(answer):
        return _check_report("html", answer)
    return str(import_module("kstream_plan.render.report.reports").answer_html(answer))


def to_json(answer: Any, *, full: bool = False, view: bool = False, command: Command = str) -> str:
    """Return an answer as one line of ASCII, without the line end; ``kstream-plan schema`` describes it.

    Args:
        answer: as of :func:`to_table`; of a list of results each is a line.
        full: add to a plan or simulation each round's outcome.
        view: add to a comparison what the leader and the members saw.
        command: completes each command, which has ``SNAPSHOT`` for the snapshot's path.

    Raises:
        TypeError: there is no document of such a value.
    """
    if _is_check(answer):
        return _check_report("json", answer).rstrip()
    # each answer has a document of its own
    if are_results(answer):
        from kstream_plan.documents.results import result_line  # noqa: PLC0415

        return "\n".join(map(result_line, answer))
    name, page = _page_module(answer)
    if isinstance(answer, Plan):
        from kstream_plan.documents.plan.write import plan_json  # noqa: PLC0415

        return plan_json(answer, full=full)
    if name == "plan":
        from kstream_plan.documents.plan.simulation import simulation_json  # noqa: PLC0415

        return simulation_json(answer, full=full)
    from kstream_plan.answers.formats import document_of  # noqa: PLC0415

    document = document_of("said-and-happened" if name == "happened" else name.replace("_", "-"))
    remarks: Remarks = answer.remarks if hasattr(answer, "remarks") else getattr(page, f"{name}_remarks")(answer)
    words = {word: getattr(page, f"{name}_{word}")(answer) for word in document.words}
    return document.line(answer, remarks.completed(command), extra=view, **words)
