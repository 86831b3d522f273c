"""The page of many applications: how many are how, then each, worst first, and why it is on the list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kstream_plan.fleet.figures import OUTCOMES, RISKS, is_least, risks
from kstream_plan.plans.result import Result
from kstream_plan.render.page import Cell, Column, Page, Row, Table, Tone, columns_of, text_cell, text_row
from kstream_plan.render.pages.plan_facts import balance_text
from kstream_plan.render.text.escape import printable
from kstream_plan.render.text.numbers import (
    arrow,
    at_least,
    count,
    count_range,
    duration,
    duration_range,
    range_text,
    span_to,
    utc,
)

_NONE = text_cell("")
_NO_END = ("stuck", "cyclic", "unfinished", "unreadable")


def fleet_page(all_results: Sequence[Result], selection: Sequence[Result]) -> Page:
    """Return the page of all results, of which some are shown."""
    applications = [result for result in all_results if result.application_id is not None]
    return Page(
        title=_title(applications),
        tone=_tone(all_results),
        sentences=tuple(filter(None, [" ".join(_sentences(all_results, applications, selection))])),
        tables=tuple(_tables(selection)),
    )


def _title(applications: Sequence[Result]) -> str:
    outcomes: Counter[str] = Counter(result.outcome for result in applications)
    parts = [f"{outcomes[outcome]:,} {outcome}" for outcome in OUTCOMES if outcomes[outcome]]
    number = count(len(applications), "application")
    return f"{number}: {', '.join(parts)}" if parts else number


def _tone(results: Sequence[Result]) -> Tone:
    if any(result.outcome in _NO_END or result.cold_handovers_likely for result in results):
        return "bad"
    return "unknown" if any(not result.settles_surely or risks(result) for result in results) else "good"


def _sentences(
    all_results: Sequence[Result], applications: Sequence[Result], selection: Sequence[Result]
) -> Iterator[str]:
    """Yield what may go wrong, what cannot be read, and what is not shown."""
    unsure = sum(result.outcome == "moving" and not result.settles_surely for result in applications)
    if unsure:
        yield f"{count(unsure, 'moving application')} may not settle."
    risks_of = [risks(result) for result in applications]
    if at_risk := sum(map(bool, risks_of)):
        numbers = Counter(risk for risks in risks_of for risk in risks)
        by_risk = ", ".join(f"{numbers[risk]:,} with {risk}" for risk in RISKS if numbers[risk])
        yield f"{count(at_risk, 'application')} {'is' if at_risk == 1 else 'are'} at risk: {by_risk}."
    if files := len(all_results) - len(applications):
        yield f"{count(files, 'file')} cannot be read."
    if len(selection) < len(all_results):
        share = f"{len(selection):,} of {len(all_results):,} {'is' if len(selection) == 1 else 'are'} shown"
        yield f"{share}{_out_of_sight(all_results, selection)}."


def _out_of_sight(all_results: Sequence[Result], selection: Sequence[Result]) -> str:
    """Return how many that cannot be read are not among the shown ones, after a comma; empty if all are."""
    every, visible = (sum(result.outcome == "unreadable" for result in results) for results in (all_results, selection))
    return f", without {every - visible:,} unreadable" if every > visible else ""


def _tables(selection: Sequence[Result]) -> Iterator[Table]:
    if not selection:
        return
    columns = _columns("worker" if all(map(_is_of_workers, selection)) else "instance")
    yield Table("", columns, tuple(map(_row, selection)), " ".join(_table_note(selection)))
    reasons = [(result, "; ".join(_reasons(result))) for result in selection]
    rows = tuple(text_row(_name(result), reason) for result, reason in reasons if reason)
    if rows:
        yield Table("Why", columns_of("Application", "Reason"), rows)


def _columns(member: str) -> tuple[Column, ...]:
    balance = f"Tasks per {member}"
    return columns_of(
        *("Application", "Status", ">Time left", f">{member.capitalize()}s", ">To move", ">Cold starts"),
        *(">Longest pause", ">State to restore", balance),
        wide={"State to restore": 105, balance: 125},
    )


def _is_of_workers(result: Result) -> bool:
    return "connect" in (result.design or "")


def _table_note(selection: Sequence[Result]) -> Iterator[str]:
    """Yield what times depend on, and which end of a figure is compared."""
    if any(result.duration_is in ("probes", "floor") and result.outcome == "moving" for result in selection):
        yield "Where the restore rate is unknown, each copy is assumed to be caught up at the next probe."
    if any(result.outcome in ("cyclic", "unfinished") for result in selection):
        yield "What is cyclic or unfinished goes on: its figures are at least those shown."
    if any(result.outcome == "moving" and not result.settles_surely for result in selection):
        yield "What is uncertain may go on: its figures may be larger."
    times = sorted({utc(result.captured_at) for result in selection if result.captured_at is not None})
    if times:
        span = times[0] if len(times) == 1 else f"{times[0]} to {times[-1]}"
        is_moving = any(result.outcome == "moving" for result in selection)
        yield f"Snapshots: {span}{'; time left counts from that of each application, or from --set now' * is_moving}."
    if any(
        _first(result.duration_ms_likely, result.duration_ms_most) != _first(result.duration_ms_most)
        or _first(result.max_paused_task_ms_likely, result.max_paused_task_ms_most)
        != _first(result.max_paused_task_ms_most)
        for result in selection
    ):
        yield "Times are those of the plan; --where and --sort take the longest that they may be."


def _name(result: Result) -> str:
    return "(a file)" if result.application_id is None else printable(result.application_id)


def _row(result: Result) -> Row:
    if result.outcome == "unreadable":
        return text_row(_name(result), _status(result), *[""] * len(_columns("instance")[2:]))
    figures = (_time_left(result), _instances(result), _moves(result), _cold(result), _pause(result))
    return text_row(_name(result), _status(result), *figures, _restore_cell(result), _balance(result))


def _status(result: Result) -> Cell:
    if result.outcome in _NO_END:
        return text_cell(result.outcome, "bad")
    if not result.settles_surely:
        return text_cell("uncertain", "unknown")
    if risks(result):
        return text_cell(result.outcome, "unknown")
    return text_cell(result.outcome, "good" if result.outcome == "settled" else "plain")


def _time_left(result: Result) -> Cell:
    if result.outcome == "settled":
        return _NONE
    if result.outcome == "stuck":
        return text_cell("unknown", "unknown")
    if result.outcome == "cyclic":
        return text_cell("endless", "bad")
    likely_ms = _first(result.duration_ms_likely, result.duration_ms, result.duration_ms_most)
    if result.outcome == "unfinished" or result.duration_is == "least":
        return text_cell(f"at least {at_least(likely_ms)}")
    least_ms, most_ms = _first(result.duration_ms_least, likely_ms), _first(result.duration_ms_most, likely_ms)
    is_open = is_least(result, "left") or result.duration_is in ("probes", "floor")
    ends = f"at least {at_least(least_ms)}" if is_open else range_text(least_ms, most_ms)
    if not likely_ms:
        return text_cell(
            f"none, or {f'{duration(most_ms)} or longer' if is_open else f'up to {duration(most_ms)}'}"
            if most_ms
            else "none"
        )
    return text_cell(f"about {duration(likely_ms)}{f' ({ends})' if least_ms < most_ms else ''}")


def _instances(result: Result) -> str:
    first, joins, leaves = (result.instances or 0, result.instances_joining or 0, result.instances_leaving or 0)
    if joins and joins == leaves:
        return f"{first:,} ({joins:,} new)"
    return arrow(first, first + joins - leaves)


def _moves(result: Result) -> Cell:
    least, most, of_all = result.moves_least or 0, result.moves_most or 0, result.stateful_tasks or 0
    if result.outcome == "settled" or not of_all:
        return _NONE
    moves = count_range(_first(result.moves_likely, most), least, most)
    return text_cell(f"{moves} of {of_all:,}")


def _cold(result: Result) -> Cell:
    least, most = result.cold_handovers_least or 0, result.cold_handovers_most or 0
    if not most:
        if is_least(result, "cold"):
            return text_cell("unknown", "unknown")
        return _NONE if result.outcome == "settled" else text_cell("0")
    likely = _first(result.cold_handovers_likely, most)
    text = count_range(likely, least, most, is_open=is_least(result, "cold"))
    return text_cell(text, "bad" if likely else "unknown")


def _pause(result: Result) -> Cell:
    likely_ms = _first(result.max_paused_task_ms_likely, result.max_paused_task_ms_most)
    least_ms, most_ms = result.max_paused_task_ms_least, result.max_paused_task_ms_most
    without_restores = result.more_may_follow is None and bool(result.cold_handovers_most)  # of an earlier release
    if _bound(result, "pause") or without_restores:
        return text_cell(f"at least {at_least(likely_ms)}") if likely_ms else text_cell("unknown", "unknown")
    if not most_ms:
        return _NONE
    return text_cell(duration_range(likely_ms, _first(least_ms, likely_ms), _first(most_ms, likely_ms)))


def _restore_cell(result: Result) -> Cell:
    if result.outcome == "settled":
        return _NONE
    least, most = result.restored_records_least, result.restored_records_most
    if least is None or most is None:
        return text_cell("unknown", "unknown")
    return text_cell(f"{_bound(result, 'restored')}{span_to(least, most)}")


def _balance(result: Result) -> str:
    least, most = result.tasks_per_instance_least, result.tasks_per_instance_most
    after_least, after_most = result.tasks_per_instance_after_least, result.tasks_per_instance_after_most
    if least is None or most is None or after_least is None or after_most is None:
        return ""
    return balance_text((least, most), (after_least, after_most))


def _bound(result: Result, figure: str) -> str:
    """Return ``at least`` and a blank before a figure of which only a lower bound is known."""
    return "at least " if is_least(result, figure) else ""


def _first(*values: int | None) -> int:
    """Return the first value that is known; rows of earlier releases lack some."""
    return next((value for value in values if value is not None), 0)


def _reasons(result: Result) -> Iterator[str]:
    """Yield what cannot be read, what keeps it from settling and would help, and what is missing."""
    if result.outcome == "unreadable":
        yield printable(result.error or "")
        return
    if result.draws is not None and result.draws_settled is not None and not result.every_draw_settles:
        yield f"does not settle in {result.draws - result.draws_settled:,} of {count(result.draws, 'simulation')}"
    if result.cause:
        yield printable(result.cause)
    if result.cure:
        yield f"settles with {printable(result.cure)}"
    if _is_of_workers(result) and result.max_paused_task_ms_most:
        yield "connectors or tasks are unassigned for a while"
    if result.standbys_missing:
        yield f"{count(result.standbys_missing, 'standby')} missing"
    if result.instances_empty:
        yield f"{count(result.instances_empty, 'worker' if _is_of_workers(result) else 'instance')} without tasks"
    yield from _moves_though_even(result)


def _moves_though_even(result: Result) -> Iterator[str]:
    """Yield that something follows though nobody comes or goes and the load is even: assignors go by more than that."""
    changes = result.instances_empty or result.instances_joining or result.instances_leaving
    if result.outcome == "settled" or changes or (result.spread or 0) > 1 or result.standbys_missing:
        return
    if result.moves_most:
        yield "the load is even, and tasks move all the same"
    elif result.rebalances:
        yield f"{count(result.rebalances, 'rebalance')} without a move"
