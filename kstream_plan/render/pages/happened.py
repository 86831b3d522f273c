"""The page of a plan beside what the group then did: rebalance by rebalance, and what differs first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from kstream_plan.answers.happened import WordedDifference
from kstream_plan.comparison.prediction import (
    CopyEvidence,
    DifferenceCause,
    FirstDifference,
    GenerationPair,
    Likeness,
    SaidAndHappened,
    TaskDifference,
    TaskHolders,
)
from kstream_plan.model.times import format_time
from kstream_plan.render.page import (
    Fact,
    Page,
    Row,
    Table,
    Tone,
    columns_of,
    overview_page,
    remark_lines,
    text_cell,
    text_row,
)
from kstream_plan.render.pages.plan_rounds import TRIGGER_WORDS
from kstream_plan.render.pages.ways import End, Way, way_rows
from kstream_plan.render.text.escape import printable
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count, duration, name_list, number_range, utc

_DECISIONS: dict[Likeness, tuple[str, Tone]] = {
    Likeness.AS_SAID: ("as planned", "plain"),
    Likeness.OTHER_THREADS: ("as planned, other threads", "plain"),
    Likeness.OTHER: ("different", "unknown"),
    Likeness.NOT_SAID: ("not planned", "unknown"),
}


#: What started a rebalance, as plans and logs have it.
_TRIGGERS = {trigger.value: words for trigger, words in TRIGGER_WORDS.items()}


def happened_page(comparison: SaidAndHappened, *, verbose: bool = False) -> Page:
    """Return the page of a plan beside what happened; ``verbose`` names every task that differs."""
    names = Names(comparison.group)
    columns = columns_of(">#", ">Planned", ">Happened", ">Off by", "Rebalance", "Decision")
    rebalances = Table("Rebalances", columns, tuple(_rows(comparison)))
    return Page(
        title=f"{names.escape(comparison.group.application_id)}: what was planned, and what happened",
        tone=_tone(comparison),
        sentences=(f"{happened_verdict(comparison)}{happened_first(comparison)}",),
        facts=tuple(_facts(comparison, names)),
        source=f"from {utc(format_time(comparison.starts_ms))} on",
        tables=(rebalances, *difference_tables(comparison, names, verbose=verbose)),
        lines=remark_lines(comparison.remarks),
    )


def happened_overview(comparisons: Sequence[SaidAndHappened]) -> Page:
    """Return several applications at a glance, those that came least as planned first."""

    def badness(comparison: SaidAndHappened) -> tuple[int, str]:
        return comparison.as_planned_count - len(comparison.pairs), comparison.group.application_id

    alike = sum(comparison.alike for comparison in comparisons)
    columns = columns_of("Application", ">Planned", ">Happened", ">As planned", "At the end")
    rows = (
        text_row(
            printable(comparison.group.application_id),
            f"{comparison.planned_count:,}",
            f"{len(comparison.recorded_pairs):,}",
            text_cell(f"{comparison.as_planned_count:,}", "plain" if comparison.alike else "unknown"),
            _end(comparison),
        )
        for comparison in sorted(comparisons, key=badness)
    )
    return overview_page(len(comparisons), f"{alike:,} as planned", "Rebalances", columns, rows)


def happened_verdict(comparison: SaidAndHappened) -> str:
    """Return how many rebalances came as planned, as the JSON has it."""
    observations, matches, by_thread = (
        len(comparison.recorded_pairs),
        comparison.as_planned_count,
        comparison.as_planned_by_thread_count,
    )
    if matches == observations:
        subject = "The only rebalance" if observations == 1 else f"All {observations:,} rebalances"
    else:
        subject = f"{matches:,} of {count(observations, 'rebalance')}"
    text = f"{subject} came as planned"
    if matches and not comparison.plan.is_of_workers:  # which have no threads
        text += ", thread by thread" if by_thread == matches else f", {by_thread:,} of them thread by thread"
    return (
        f"{text}."
        if observations == comparison.planned_count
        else f"{text}; the plan has {comparison.planned_count:,}."
    )


def happened_first_difference(comparison: SaidAndHappened) -> WordedDifference | None:
    """Return what the first difference comes from, as the JSON has it."""
    first = comparison.first
    if first is None:
        return None
    text = _because(comparison, first, Names(comparison.group))
    if first.cause is DifferenceCause.UNKNOWN and len(comparison.plan.first_members) < len(comparison.group.instances):
        text += "; new instances have random process ids, which decide between equals, so that others may be chosen"
    races = any(len(instance.consumers) > 1 for instance in comparison.group.instances)
    if races and first.cause in (DifferenceCause.LATE_FOLLOW_UP, DifferenceCause.RATE, DifferenceCause.UNKNOWN):
        text += "; or threads of one instance joined in another order"
    return WordedDifference(first, text)


def _tone(comparison: SaidAndHappened) -> Tone:
    """Return green if all came as planned, yellow if the history only ends early, else red."""
    return "good" if comparison.alike else "unknown" if comparison.ends_early else "bad"


def happened_first(comparison: SaidAndHappened) -> str:
    """Return what the first difference comes from, after a blank."""
    difference = happened_first_difference(comparison)
    if difference is None:
        return ""
    return f" The first difference is in rebalance {difference.first.pair.number:,}: {difference.message}."


def _facts(comparison: SaidAndHappened, names: Names) -> Iterator[Fact]:
    planned_ms = comparison.plan.rounds[-1].at_ms if comparison.plan.rounds else 0
    happened_ms = comparison.recorded_pairs[-1].seen_ms or 0
    yield Fact(
        "rebalances", "Rebalances", f"{comparison.planned_count:,} planned, {len(comparison.recorded_pairs):,} happened"
    )
    yield Fact("duration", "Last rebalance", f"{duration(planned_ms)} planned, {_time(happened_ms)} happened")
    tone: Tone = "unknown" if comparison.misplaced_tasks is None else "bad" if comparison.misplaced_tasks else "plain"
    value = _end(comparison)
    if comparison.misplaced_tasks:
        value += f": {name_list([_difference(task, names) for task in comparison.misplaced_tasks])}"
    yield Fact("end", "At the end", value, tone)


def _end(comparison: SaidAndHappened) -> str:
    if comparison.misplaced_tasks is None:
        return "unknown: the history ends before the plan does"
    if not comparison.misplaced_tasks:
        return "every task runs where planned"
    return f"{count(len(comparison.misplaced_tasks), 'task runs', 'tasks run')} elsewhere than planned"


def _because(comparison: SaidAndHappened, first: FirstDifference, names: Names) -> str:
    match first.cause:
        case DifferenceCause.ANOTHER_MEMBER:
            return _members(first.pair, names)
        case DifferenceCause.LATE_FOLLOW_UP:
            late = f"{_trigger(first)} after {_gap(first.since_seen_ms)}, planned after {_gap(first.since_said_ms)}"
            lags = "" if comparison.plan.is_of_workers else f", so it met other lags{_copy(first.copy, names)}"
            return f"{late}{lags}"
        case DifferenceCause.RATE:
            is_estimate = comparison.plan.summary.duration_is == "estimate"
            rate = "" if is_estimate else " (the plan knows no restore rate)"
            return f"a copy restored at another rate than planned{rate}{_copy(first.copy, names)}"
        case DifferenceCause.THREAD_RACE | DifferenceCause.WITHOUT_FILE:
            return _decider(first)
        case DifferenceCause.LENGTH:
            return _length(comparison, first.pair)
        case DifferenceCause.UNKNOWN:
            lag = "" if first.copy is None else f"the lag of {_place(first.copy, names)} was not reported"
            return f"the cause is unknown, because {lag or 'the records do not say'}"


def _decider(first: FirstDifference) -> str:
    if first.cause is DifferenceCause.WITHOUT_FILE and first.pair.recorded_generation is not None:
        return f"it was decided without the target file ({first.pair.recorded_generation.without_plan})"
    number = first.threads_differ_from
    return f"threads raced: from rebalance {number} on, threads of one instance have other tasks than planned"


def _trigger(first: FirstDifference) -> str:
    prediction, observation = first.pair.planned_round, first.pair.recorded_generation
    if prediction is None or observation is None or observation.trigger in (None, prediction.trigger.value):
        return "it came"
    return f"a {_words(observation.trigger)} instead of a {_words(prediction.trigger.value)} came"


def _words(trigger: str | None) -> str:
    """Return what started a rebalance in words."""
    return "unknown event" if trigger is None else _TRIGGERS.get(trigger, trigger)


def _gap(milliseconds: int | None) -> str:
    return "an unknown time" if milliseconds is None else duration(max(milliseconds, 0))


def _members(pair: GenerationPair, names: Names) -> str:
    parts = []
    if pair.members_seen:
        parts.append(f"{name_list(names.instances(pair.members_seen))} took part, which the plan does not have")
    if pair.members_said:
        parts.append(f"{name_list(names.instances(pair.members_said))} took part only in the plan")
    if not parts and pair.planned_round is not None and pair.recorded_generation is not None:
        trigger, planned_trigger = pair.recorded_generation.trigger, pair.planned_round.trigger.value
        parts.append(f"a {_words(trigger)} started it, planned was a {_words(planned_trigger)}")
    return "; ".join(parts)


def _copy(copy: CopyEvidence | None, names: Names) -> str:
    if copy is None or copy.lag is None:
        return ""
    lag = f"{count(copy.lag, 'record')} behind (limit {copy.limit:,})"
    direction = "later" if copy.said_caught_up else "earlier"
    return f": {_place(copy, names)} was {lag}, caught up {direction} than planned"


def _place(copy: CopyEvidence, names: Names) -> str:
    return f"{names.task(copy.task_id)} on {names.instance(copy.process_id)}"


def _length(comparison: SaidAndHappened, pair: GenerationPair) -> str:
    if pair.planned_round is None:
        reason = (
            ""
            if pair.recorded_generation is None or pair.recorded_generation.trigger is None
            else f" ({_words(pair.recorded_generation.trigger)})"
        )
        return f"the plan ends after {count(comparison.planned_count, 'rebalance')}, the group went on{reason}"
    last = comparison.recorded_pairs[-1].recorded_generation
    if last is not None and last.has_settled:
        return "the group had settled, the plan goes on"
    return "the history ends before it, the plan goes on"


def _rows(comparison: SaidAndHappened) -> Iterator[Row]:
    """Yield a row for each rebalance; those that were not seen one after the other share one."""
    last = comparison.recorded_pairs[-1]
    for number, pairs in groupby(comparison.pairs, lambda pair: 0 if pair.recorded_generation is None else pair.number):
        if number:
            yield from map(rebalance_row, pairs)
            continue
        not_seen = [pair.number for pair in pairs]
        times = [duration(comparison.plan.rounds[number - 1].at_ms) for number in (not_seen[0], not_seen[-1])]
        reason = f"not seen: the history ends at {_time(last.seen_ms or 0)}"
        if not_seen[0] < comparison.recorded_pairs[0].number:
            reason = "not seen: the history begins later"
        elif last.recorded_generation is not None and last.recorded_generation.has_settled:
            reason = "did not come: the group had settled"
        numbers = text_cell(number_range(not_seen[0], not_seen[-1]), "dim")
        yield text_row(numbers, " to ".join(dict.fromkeys(times)), "", "", "", text_cell(reason, "unknown"))


def rebalance_row(pair: GenerationPair) -> Row:
    """Return the row of a rebalance that came, beside the planned one."""
    decision, tone = _DECISIONS[pair.likeness]
    if pair.likeness is Likeness.OTHER and pair.tasks:
        decision = count(len(pair.tasks), "task differs", "tasks differ")
    elif pair.likeness is Likeness.OTHER and pair.planned_round is not None:
        decision += ": no probe scheduled" if pair.planned_round.probing_rebalance else ": a probe scheduled"
    return text_row(
        text_cell(f"{pair.number:,}", "dim"),
        "" if pair.planned_round is None else duration(pair.planned_round.at_ms),
        "" if pair.seen_ms is None else _time(pair.seen_ms),
        off_by(pair.late_ms),
        started_by(pair),
        text_cell(decision, tone),
    )


def off_by(late_ms: int | None) -> str:
    """Return how much later or earlier than planned a rebalance came; empty: one of them is not there."""
    if not late_ms:
        return "" if late_ms is None else "on time"
    return f"{duration(abs(late_ms))} {'late' if late_ms > 0 else 'early'}"


def difference_tables(comparison: SaidAndHappened, names: Names, *, verbose: bool) -> Iterator[Table]:
    """Yield the tasks that the first different decision differs in, for others may follow from it; verbose: all."""
    pairs = [pair for pair in comparison.pairs if pair.tasks]
    columns = columns_of("Planned", "Happened", ">Tasks", "Which")
    for pair in pairs if verbose else pairs[:1]:
        ways = [_way(task, names) for task in pair.tasks]
        rows = tuple(Row(cells) for cells, _ in way_rows(ways, whole=verbose, member="instance"))
        yield Table(f"What rebalance {pair.number:,} decided differently", columns, rows)


def _way(task: TaskDifference, names: Names) -> Way:
    """Return who was planned to have a task, and who has it; its standbys, if only these differ."""
    name = names.task(task.task_id)
    if task.said.active != task.seen.active:
        return Way(_end_of(task.said.active, names), _end_of(task.seen.active, names), "active", name)
    return Way(_standbys(task.said, names), _standbys(task.seen, names), "standby", name)


def _standbys(holders: TaskHolders, names: Names) -> End:
    instances = ", ".join(names.instances(holders.copies))
    text = f"copy on {instances}" if instances else "no copy"
    return End((1, text), text)


def _end_of(process_id: str | None, names: Names) -> End:
    if process_id is None:
        return End((2,), "unassigned")
    return End((0, names.reading_order(process_id)), names.instance(process_id))


def _time(milliseconds: int) -> str:
    return duration(milliseconds) if milliseconds >= 0 else f"-{duration(-milliseconds)}"


def started_by(pair: GenerationPair) -> str:
    """Return what started a rebalance, in words, and what was planned to if that is another."""
    prediction = None if pair.planned_round is None else _words(pair.planned_round.trigger.value)
    observation = (
        None
        if pair.recorded_generation is None or pair.recorded_generation.trigger is None
        else _words(pair.recorded_generation.trigger)
    )
    if prediction is not None and observation is not None and prediction != observation:
        return f"{observation} (planned {prediction})"
    return observation or prediction or ""


def _difference(task: TaskDifference, names: Names) -> str:
    """Return ``0_1: i3 (planned i4)``."""
    way = _way(task, names)
    return f"{way.item}: {way.destination.name} (planned {way.source.name})"
