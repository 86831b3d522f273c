"""Target files as pages: what was written and what it leads to, and whether one would count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kstream_plan.model.answer import Answer
from kstream_plan.model.note import name_list
from kstream_plan.model.target_refusals import REFUSALS
from kstream_plan.model.times import format_time
from kstream_plan.render.page import Fact, Page, Table, answer_tone, as_sentence, columns_of, remark_lines, text_row
from kstream_plan.render.text.escape import printable
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count, duration, utc
from kstream_plan.simulation.target_check import TargetCheck
from kstream_plan.simulation.target_export import Export, ExportRefusedError


def export_page(export: Export, path: str) -> Page:
    """Return what a target file holds that was written to ``path``, and what follows from it."""
    file = export.file
    pace = f"{count(file.warmups, 'warm-up')} at a time, a probe every {duration(file.probe_ms)}"
    return Page(
        title=f"{printable(file.application)}: target file {printable(path)}",
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


def export_refused_page(error: ExportRefusedError) -> Page:
    """Return why a plan was not exported."""
    reasons = [f"{printable(reason)}." for reason in error.reasons]
    return Page(
        title=f"{printable(error.where)}: no target file",
        tone=answer_tone(Answer.NO),
        answer=Answer.NO,
        sentences=("It must not be run as it is, and nothing was written.", *reasons),
    )


def check_page(check: TargetCheck, path: str) -> Page:
    """Return whether a target file would count for a group as it is."""
    answer = check.answer
    title = f"{printable(check.group.application_id)}: target file {printable(path)}"
    if check.refusal is not None:
        return Page(
            title=title,
            tone=answer_tone(answer),
            answer=answer,
            sentences=(
                f"The file would not count: {REFUSALS[check.refusal].reason} ({check.refusal}).",
                f"The application would decide without a plan. To mend it, {REFUSALS[check.refusal].remedy}.",
            ),
        )
    names = Names(check.group)
    empty = [name for name, process_id in check.slots if process_id is None]
    rows = [
        text_row(name, "–" if process_id is None else names.instance(process_id)) for name, process_id in check.slots
    ]
    return Page(
        title=title,
        tone=answer_tone(answer),
        answer=answer,
        sentences=(
            f"{'As the group was, the' if check.doubts else 'The'} file would count, for plan {check.plan}.",
            *(as_sentence(doubt.message) for doubt in check.doubts),
            f"{count(check.moving, 'stateful task')} would change owner; {count(check.waiting, 'task')} and "
            f"{count(check.standbys_waiting, 'standby', 'standbys')} would warm up first.",
            *_empty(empty),
            *(f"{names.instance(process_id)} has no slot and gets nothing." for process_id in check.unseated),
        ),
        tables=(Table("Slots", columns_of("Slot", "Instance"), tuple(rows)),),
    )


def _empty(slots: Sequence[str]) -> Iterator[str]:
    if len(slots) == 1:
        yield f"Slot {slots[0]} is empty: its tasks stay where they are until an instance joins."
    elif slots:
        yield f"Slots {name_list(slots)} are empty: their tasks stay where they are until instances join."


def _sentences(export: Export) -> Iterator[str]:
    tasks = sum(len(slot.active) for slot in export.file.slots)
    yield f"The file places {count(tasks, 'task')} on {count(len(export.file.slots), 'instance')}."
    plan = export.simulated
    if plan is None:
        yield f"{as_sentence(export.unsimulated)} It was not simulated: check-target says what a group makes of it."
        return
    summary, bound = plan.summary, "at least" if plan.rates[0] is None else "about"
    order = "in batches for one instance after another" if export.is_grouped else "in the order of the plan"
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
