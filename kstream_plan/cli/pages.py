"""Plans as pages of text for stdout."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kstream_plan.cli.next_commands import NOT_READ, Input, with_commands
from kstream_plan.cli.output import ONE_IN_FULL, OutputForm, Page
from kstream_plan.cli.output import page as page_shape
from kstream_plan.fleet.figures import badness
from kstream_plan.plans.python_gc import without_cycle_collector
from kstream_plan.plans.result import Result, result_of
from kstream_plan.render import page as render_page
from kstream_plan.render.answers import page_of, to_json
from kstream_plan.render.terminal import to_terminal

if TYPE_CHECKING:
    from kstream_plan.documents.plan.read import SavedPlan


@without_cycle_collector()
def answer_text(answer: object, form: OutputForm, page: Page, *, verbose: bool, source: Input = NOT_READ) -> str:
    """Return an answer as text for stdout; ``source`` is where its snapshot was read."""
    return draw_page(with_commands(page_of(answer, verbose=verbose), source.command), form, page)


def draw_page(answer_page: render_page.Page, form: OutputForm, page: Page) -> str:
    """Return a page as text for stdout, as wide as that is."""
    if form is OutputForm.MARKDOWN:
        from kstream_plan.render.markdown import to_markdown  # noqa: PLC0415 - most are shown as tables

        return to_markdown(answer_page)
    return to_terminal(answer_page, width=page.width, colour=page.colour)


def draw_pages(answer_pages: Iterable[render_page.Page], form: OutputForm = OutputForm.TABLE) -> str:
    """Return pages one below the other, as wide as stdout is."""
    shape = page_shape()
    return "\n".join(draw_page(answer_page, form, shape) for answer_page in answer_pages)


def json_lines(answers: Iterable[object], sources: Iterable[Input]) -> str:
    """Return answers as JSON Lines; ``sources`` are where their snapshots were read."""
    pairs = zip(answers, sources, strict=True)
    return "".join(f"{to_json(answer, command=source.command)}\n" for answer, source in pairs)


def answers_text(answers: Iterable[object], sources: Iterable[Input], form: OutputForm) -> str:
    """Return answers one below the other for stdout; ``sources`` are where their snapshots were read."""
    if form is OutputForm.JSON:
        return json_lines(answers, sources)
    pairs = zip(answers, sources, strict=True)
    return draw_pages((with_commands(page_of(answer), source.command) for answer, source in pairs), form)


def overview(results: Sequence[Result], form: OutputForm, page: Page) -> str:
    """Return several applications at a glance, the worst first, as ``fleet`` does."""
    from kstream_plan.render.pages.fleet import fleet_page  # noqa: PLC0415 - not for a single answer

    order = sorted(results, key=badness)
    return draw_page(fleet_page(order, order), form, page)


def join_pages(overviews: Sequence[str], in_full: Sequence[str], form: OutputForm) -> str:
    """Return the overview and what is shown in full as one page, which tells how to see more if that is nothing."""
    hint = ONE_IN_FULL if overviews and not in_full and form is OutputForm.TABLE else ""
    return "\n".join([*overviews, *in_full]) + hint


def saved_page(entries: Sequence[SavedPlan], form: OutputForm, source: Input, *, full: bool, verbose: bool) -> str:
    """Return what was saved as it was shown then."""
    if form is OutputForm.JSON:
        return "".join(_line(entry, full=full) for entry in entries)
    page, results = page_shape(), [result_of(entry.plan, entry.simulation) for entry in entries]
    is_plural = len(entries) > 1
    in_full = (
        sorted(zip(results, entries, strict=True), key=lambda pair: badness(pair[0]))
        if verbose or not is_plural
        else []
    )
    plans = [entry.simulation or entry.plan for _, entry in in_full]
    pages = [answer_text(plan, form, page, verbose=verbose, source=source) for plan in plans]
    return join_pages([overview(results, form, page)] if is_plural else [], pages, form)


def _line(entry: SavedPlan, *, full: bool) -> str:
    return f"{to_json(entry.simulation or entry.plan, full=full)}\n"
