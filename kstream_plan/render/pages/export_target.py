"""A target file that was written and what it leads to, or why none was, as a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kstream_plan.model.answer import Answer
from kstream_plan.model.times import format_time
from kstream_plan.render.page import Fact, Page, Table, answer_tone, as_sentence, columns_of, remark_lines, text_row
from kstream_plan.render.text.escape import printable
from kstream_plan.render.text.numbers import count, duration, utc
from kstream_plan.simulation.target_export import Export, TargetExport


def export_target_page(answer: TargetExport) -> Page:
    """Return what a target file holds, and what follows from it; or every reason why none was written."""
    export = answer.export
    if export is None:
        return Page(
            title=f"{printable(answer.source)}: no target file",
            tone=answer_tone(Answer.NO),
            answer=Answer.NO,
            sentences=(
                "It must not be run as it is, and nothing was written.",
                *_number([as_sentence(printable(reason[0].upper() + reason[1:])) for reason in answer.reasons]),
            ),
        )
    file = export.file
    pace = f"{count(file.warmups, 'warm-up')} at a time, a probe every {duration(file.probe_ms)}"
    return Page(
        title=f"{printable(file.application)}: target file {printable(answer.path)}",
        tone="good",
        sentences=tuple(_sentences(export)),
        facts=(
            Fact("plan", "Plan", file.plan),
            Fact("expires", "Expires", utc(format_time(file.expires_ms))),
            Fact("pace", "Pace", pace),
        ),
        tables=(_slots(export),),
        lines=remark_lines(export.remarks),
    )


def _number(sentences: Sequence[str]) -> Iterator[str]:
    """Yield sentences with their numbers, unless there is one alone."""
    for number, sentence in enumerate(sentences, 1):
        yield sentence if len(sentences) == 1 else f"{number}. {sentence}"


def _sentences(export: Export) -> Iterator[str]:
    tasks = sum(len(slot.active) for slot in export.file.slots)
    yield f"The file places {count(tasks, 'task')} on {count(len(export.file.slots), 'instance')}."
    plan = export.simulated_plan
    if plan is None:
        yield f"{as_sentence(export.unsimulated)} It was not simulated: check-target says what a group makes of it."
        return
    summary, bound = plan.summary, "at least" if plan.rates[0] is None else "about"
    order = (
        "in batches for one instance after another"
        if export.is_grouped
        else f"in the order of {'task ids' if export.is_back else 'the plan'}"
    )
    yield (
        f"Simulated with it{' from the end of the plan' * export.is_back}, the group settles in {bound} "
        f"{duration(summary.duration_ms)}: "
        f"{count(summary.moves, 'stateful task')} of {len(plan.group.stateful):,} move, in "
        f"{count(summary.rebalances, 'rebalance')}. Tasks warm up {order}."
    )


def _slots(export: Export) -> Table:
    rows = [
        text_row(slot.name, printable(slot.match), f"{len(slot.active):,}", f"{len(slot.standby):,}")
        for slot in export.file.slots
    ]
    return Table("Slots", columns_of("Slot", "Match", ">Tasks", ">Standbys"), tuple(rows))
