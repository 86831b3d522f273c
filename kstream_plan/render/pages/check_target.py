"""Whether a target file would count for a group as it is, as a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kstream_plan.model.note import name_list
from kstream_plan.model.target_refusals import REFUSALS
from kstream_plan.model.times import format_time
from kstream_plan.render.page import Page, Table, answer_tone, as_sentence, columns_of, text_row
from kstream_plan.render.text.escape import printable
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count, utc
from kstream_plan.simulation.target_check import TargetCheck


def check_target_page(check: TargetCheck) -> Page:
    """Return whether a target file would count for a group as it is."""
    answer = check.answer
    title = f"{printable(check.group.application_id)}: target file {printable(check.path)}"
    if check.refusal is not None:
        refusal = REFUSALS[check.refusal]
        return Page(
            title=title,
            tone=answer_tone(answer),
            answer=answer,
            sentences=(
                f"The file would not count: {refusal.reason} ({check.refusal}).",
                f"The application would decide without a plan. To mend it, {refusal.remedy}.",
            ),
        )
    assert check.expires_ms is not None
    names = Names(check.group)
    empty = [seat.name for seat in check.slots if seat.process_id is None]
    rows = [
        text_row(seat.name, "–" if seat.process_id is None else names.instance(seat.process_id)) for seat in check.slots
    ]
    return Page(
        title=title,
        tone=answer_tone(answer),
        answer=answer,
        sentences=(
            f"{'As the group was, the' if check.doubts else 'The'} file would count, for plan {check.plan}, until "
            f"{utc(format_time(check.expires_ms))}.",
            *(as_sentence(doubt.message) for doubt in check.doubts),
            _moves(check),
            *_empty(empty),
            *(f"{names.instance(process_id)} has no slot and gets nothing." for process_id in check.unseated),
        ),
        tables=(Table("Slots", columns_of("Slot", "Instance"), tuple(rows)),),
    )


def _moves(check: TargetCheck) -> str:
    if not (check.moving or check.waiting or check.standbys_waiting):
        return "No stateful task would change its owner, and nothing would warm up."
    return (
        f"{count(check.moving, 'stateful task')} would change owner; {count(check.waiting, 'task')} and "
        f"{count(check.standbys_waiting, 'standby', 'standbys')} would warm up first."
    )


def _empty(slots: Sequence[str]) -> Iterator[str]:
    if len(slots) == 1:
        yield f"Slot {slots[0]} is empty: its tasks stay where they are until an instance joins."
    elif slots:
        yield f"Slots {name_list(slots)} are empty: their tasks stay where they are until instances join."
