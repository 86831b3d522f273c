"""The table of copies that a group waits for: how far behind they are, how fast they restore, when they catch up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from kstream_plan.plans.why_answers import WaitingCopy, Why
from kstream_plan.render.page import Cell, Row, Table, Tone, columns_of, text_cell
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count, duration, name_list, rate_text, records

#: Up to this many copies have a row each; of more, those of which the same is known share one.
_MOST_ROWS = 12
_KNOWN = {"reported": "reported", "measured": "measured", "at-least": "at least"}
_WHERE = columns_of("Task", "Runs on", "Copy on")
_COLUMNS = (*_WHERE, *columns_of(">Behind", "Known", ">Records/s", "Caught up", "Starts there"))


def waiting_table(waiting_copies: Sequence[WaitingCopy], answers: Why, names: Names) -> Iterator[Table]:
    """Yield the table of copies, if there are any."""
    if not waiting_copies:
        return
    alike: dict[tuple[Cell, ...], list[WaitingCopy]] = defaultdict(list)
    for place, copy in enumerate(waiting_copies):
        key = _figures(copy, answers)
        alike[key if len(waiting_copies) > _MOST_ROWS else (*key, text_cell(f"{place}"))].append(copy)
    role = "standby" if answers.plan.config.num_standby_replicas else "warm-up"
    rows = tuple(
        Row((*_places(copies, names, role), *key[: len(_COLUMNS) - len(_WHERE)])) for key, copies in alike.items()
    )
    next_ms = answers.probing.next_ms
    needs = any(copy.needed_rate is not None for copy in waiting_copies) and next_ms is not None
    notes = [f"caught up: at most {answers.plan.config.acceptable_recovery_lag:,} records behind"]
    notes += ["never reported: the whole changelog counts"] * any(copy.lag_is == "whole" for copy in waiting_copies)
    notes += [f"needs: to be caught up at the next probe, in {duration(next_ms)}"] if needs and next_ms else []
    unseen = dict.fromkeys(
        names.instance(copy.destination)
        for copy in waiting_copies
        if copy.restore_rate is None and copy.restore_at_least is None
    )
    notes += [f"unknown: the restore rate of {name_list([*unseen], 3)} was never seen"] if unseen else []
    copies_to_run = (copy for copy in waiting_copies if copy.to_run and copy.takes_over_ms is not None)
    notes += ["starts there: if caught up by then"] * any(copy.ready_is != "estimate" for copy in copies_to_run)
    yield Table("Copies that tasks wait for", _COLUMNS, rows, "; ".join(notes))


def _places(copies: Sequence[WaitingCopy], names: Names, role: str) -> tuple[Cell, ...]:
    """Return which tasks, where they run, and where the copies are, with the ``role`` of those that stay copies."""
    tasks = [names.task(copy.task_id) for copy in copies]
    owners = list(dict.fromkeys("–" if copy.owner is None else names.instance(copy.owner) for copy in copies))
    homes = dict.fromkeys(f"{names.instance(copy.destination)}{'' if copy.to_run else f' ({role})'}" for copy in copies)
    columns = ((tasks, "task"), (owners, "instance"), (list(homes), "instance"))
    return tuple(text_cell(items[0] if len(items) == 1 else count(len(items), noun)) for items, noun in columns)


def _figures(copy: WaitingCopy, answers: Why) -> tuple[Cell, ...]:
    """Return how far behind a copy is, how that is known, how fast it restores, and when its task starts there."""
    return (
        text_cell(f"{'at most ' * (copy.lag_is == 'whole' and copy.lag is not None)}{records(copy.lag)}"),
        text_cell(_known_state(copy)),
        text_cell(_rate(copy)),
        text_cell(*caught_up(copy, answers)),
        text_cell(_starts(copy)),
    )


def _known_state(copy: WaitingCopy) -> str:
    """Return how it is known how far behind a copy is, and how long ago that was."""
    if copy.lag_is == "whole":
        return "never reported"
    age = "" if copy.lag_at_ms is None or copy.lag_at_ms > -1_000 else f" {duration(-copy.lag_at_ms)} ago"
    still = "" if copy.no_closer_ms is None else f", no closer for {duration(copy.no_closer_ms)}"
    return f"{_KNOWN[copy.lag_is]}{age}{still}"


def _rate(copy: WaitingCopy) -> str:
    share = f" for {copy.shared_by:,} copies" if copy.shared_by > 1 else ""
    rate, bound = copy.restore_rate, copy.restore_at_least or 0
    bound_words = f"at least {rate_text(bound)}{share}" if bound else ""
    rate_words = bound_words if rate is None else f"{rate_text(rate)}{share}"
    is_enough = copy.needed_rate is None or bound >= copy.needed_rate
    return (rate_words or "unknown") if is_enough else f"{rate_words or 'unknown'}, needs {copy.needed_rate:,}"


def caught_up(copy: WaitingCopy, answers: Why) -> tuple[str, Tone]:
    """Return when a copy has caught up, or that this is unknown."""
    limit = answers.plan.config.acceptable_recovery_lag
    if copy.lag_is in ("reported", "measured") and copy.lag is not None and copy.lag <= limit:
        return "now", "good"
    if copy.ready_is == "estimate" and copy.ready_ms is not None:
        if copy.lag_is == "at-least":
            return ("unknown", "unknown") if copy.ready_ms <= 0 else (f"in at least {duration(copy.ready_ms)}", "plain")
        return ("now" if copy.ready_ms <= 0 else f"in {duration(copy.ready_ms)}"), "plain"
    return ("never", "bad") if copy.ready_is == "never" else ("unknown", "unknown")


def _starts(copy: WaitingCopy) -> str:
    """Return when the plan starts the task there."""
    if copy.decided_ms is None or (copy.to_run and copy.takes_over_ms is None):
        return "not in this plan"
    if not copy.to_run:
        return "stays a copy"
    return f"in {duration(copy.takes_over_ms)}" if copy.takes_over_ms else "now"
