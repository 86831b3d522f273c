"""What was said beside what happened, put into words; every name in it is escaped already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kstream_plan.comparison.said_and_happened import (
    CopyEvidence,
    DifferenceCause,
    FirstDifference,
    GenerationPair,
    HeldBy,
    Likeness,
    SaidAndHappened,
    TaskDifference,
)
from kstream_plan.model.times import format_time
from kstream_plan.render.text.escape import TERMINAL, Escape
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import clock, count, duration, several
from kstream_plan.render.text.page import Fact

_CAME = {
    Likeness.AS_SAID: "as said",
    Likeness.OTHER_THREADS: "as said, other threads",
    Likeness.OTHER: "otherwise",
    Likeness.NOT_SAID: "not said",
    Likeness.NOT_SEEN: "did not come",
}
HEADS = ("no", "said", "came", "off by", "started by", "decided")


@dataclass(frozen=True, slots=True)
class HappenedStory:
    """What the table and the Markdown form show, in this order; a row has a text under each of :data:`HEADS`."""

    title: Fact
    facts: tuple[Fact, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]


def tell_happened(found: SaidAndHappened, *, escape: Escape = TERMINAL, verbose: bool = False) -> HappenedStory:
    """Put it into words; ``verbose`` names every task that was decided otherwise."""
    names = Names(found.group, escape)
    return HappenedStory(
        title=Fact(
            names.escape(found.group.application_id),
            (f"what the plan said and what happened from {format_time(found.starts_ms)} on",),
        ),
        facts=tuple(_facts(found, names)),
        rows=tuple(_row(pair, names, verbose=verbose) for pair in found.pairs),
        notes=tuple(_notes(found)),
    )


def happened_verdict(found: SaidAndHappened) -> str:
    """Return the whole in one line: ``12 of 13 generations came as said, 10 of them thread by thread``."""
    seen = len(found.seen)
    text = f"{found.came:,} of {count(seen, 'generation')} came as said"
    if found.came and found.came_by_thread == found.came:
        text += ", thread by thread"
    elif found.came:
        text += f", {found.came_by_thread:,} of them thread by thread"
    return text if seen == found.said else f"{text}; the plan has {found.said:,}"


def happened_summary(found: Sequence[SaidAndHappened], escape: Escape) -> str:
    """Return one line per application, those that came least as said first, as a list, lines ended."""

    def badness(of: SaidAndHappened) -> tuple[int, str]:
        return of.came - len(of.pairs), of.group.application_id

    alike = sum(of.alike for of in found)
    lines = [f"- {escape.name(of.group.application_id)}: {happened_verdict(of)}" for of in sorted(found, key=badness)]
    hint = "One of them in full: --application-id ID; all of them: --verbose"
    return "\n".join([f"{count(len(found), 'application')}: {alike:,} as said", "", *lines, "", hint]) + "\n"


def _facts(found: SaidAndHappened, names: Names) -> list[Fact]:
    facts = [Fact("AS SAID" if found.alike else "DIFFERS", (happened_verdict(found),))]
    if found.first is not None:
        text = f"generation {found.first.pair.number}: {first_difference(found, found.first, names)}"
        facts.append(Fact("FIRST", (text,)))
    said_ms = found.plan.rounds[-1].at_ms if found.plan.rounds else 0
    seen_ms = found.seen[-1].seen_ms or 0
    facts.append(Fact("LASTS", (f"{duration(said_ms)} said, {duration(seen_ms)} seen",)))
    facts.append(Fact("END", (_end(found, names),)))
    return facts


def _end(found: SaidAndHappened, names: Names) -> str:
    if found.elsewhere is None:
        return "the history ends before the plan does"
    if not found.elsewhere:
        return "every task runs where the plan says"
    ways = [_task(of, names) for of in found.elsewhere]
    return f"{count(len(ways), 'task runs', 'tasks run')} elsewhere than said: {several(ways)}"


def first_difference(found: SaidAndHappened, first: FirstDifference, names: Names) -> str:
    """Return what the first difference comes from, in a sentence."""
    text = _because(found, first, names)
    races = any(len(one.consumers) > 1 for one in found.group.instances)
    if races and first.cause in (DifferenceCause.LATE_FOLLOW_UP, DifferenceCause.RATE, DifferenceCause.UNKNOWN):
        text += "; or threads of one instance came in another order than said"
    return text


def _because(found: SaidAndHappened, first: FirstDifference, names: Names) -> str:
    match first.cause:
        case DifferenceCause.ANOTHER_MEMBER:
            return f"another member: {_members(first.pair, names)}"
        case DifferenceCause.LATE_FOLLOW_UP:
            late = f"{_trigger(first)} after {_gap(first.since_seen_ms)}, said {_gap(first.since_said_ms)}"
            return f"a follow-up at another time: {late}, so that other lags were read{_copy(first.copy, names)}"
        case DifferenceCause.RATE:
            rate = "" if found.plan.summary.duration_is == "estimate" else ", which knows no restore rate"
            return f"a rate{_copy(first.copy, names)} than the plan has it{rate}"
        case DifferenceCause.THREAD_RACE:
            since = first.threads_differ_from
            return f"a thread race: from generation {since} on threads of one instance have other tasks than said"
        case DifferenceCause.LENGTH:
            return _length(found, first.pair)
        case DifferenceCause.UNKNOWN:
            return _unknown(first.copy, names)


def _unknown(copy: CopyEvidence | None, names: Names) -> str:
    if copy is None:
        return "unknown: the records do not tell what it comes from"
    where = f"{names.task(copy.task_id)} on {names.instance(copy.process_id)}"
    return f"unknown: how far {where} was behind was not reported"


def _trigger(first: FirstDifference) -> str:
    said, seen = first.pair.said, first.pair.seen
    if said is None or seen is None or seen.trigger in (None, said.trigger.value):
        return "it came"
    return f"{seen.trigger} instead of {said.trigger.value} came"


def _gap(milliseconds: int | None) -> str:
    return "-" if milliseconds is None else duration(max(milliseconds, 0))


def _members(pair: GenerationPair, names: Names) -> str:
    parts = [f"{several(names.instances(pair.members_seen))} took part"] if pair.members_seen else []
    if pair.members_said:
        parts.append(f"{several(names.instances(pair.members_said))} took part only in the plan")
    if not parts and pair.said is not None and pair.seen is not None:
        parts.append(f"a {pair.seen.trigger} started it, said {pair.said.trigger.value}")
    return "; ".join(parts)


def _copy(copy: CopyEvidence | None, names: Names) -> str:
    if copy is None or copy.lag is None:
        return ""
    how = "later" if copy.said_caught_up else "earlier"
    where = f"{names.task(copy.task_id)} on {names.instance(copy.process_id)}"
    return f": {where} was {count(copy.lag, 'record')} behind (limit {copy.limit:,}), ready {how}"


def _length(found: SaidAndHappened, pair: GenerationPair) -> str:
    if pair.said is None:
        why = "" if pair.seen is None or pair.seen.trigger is None else f" ({pair.seen.trigger})"
        return f"the plan ends after {count(found.said, 'generation')}, the group went on{why}"
    last = found.seen[-1].seen
    settled = last is not None and last.settled
    return "the group had settled, the plan goes on" if settled else "the history ends here, the plan goes on"


def _row(pair: GenerationPair, names: Names, *, verbose: bool) -> tuple[str, ...]:
    late = pair.late_ms
    return (
        str(pair.number),
        "-" if pair.said is None else clock(pair.said.at_ms),
        "-" if pair.seen_ms is None else _clock(pair.seen_ms),
        "-" if late is None else f"{'-' if late < 0 else '+'}{duration(abs(late))}",
        _started_by(pair),
        _decided(pair, names, verbose=verbose),
    )


def _clock(milliseconds: int) -> str:
    return clock(milliseconds) if milliseconds >= 0 else f"-{clock(-milliseconds)}"


def _started_by(pair: GenerationPair) -> str:
    said = None if pair.said is None else pair.said.trigger.value
    seen = None if pair.seen is None else pair.seen.trigger
    known = [of for of in (seen, said) if of is not None]
    return f"{seen}, said {said}" if len(set(known)) > 1 else known[0] if known else "-"


def _decided(pair: GenerationPair, names: Names, *, verbose: bool) -> str:
    text = _CAME[pair.likeness]
    if pair.likeness is not Likeness.OTHER:
        return text
    if not pair.tasks:
        return f"{text}: {'probing' if pair.said and not pair.said.probing_rebalance else 'no probing'} wanted"
    ways = [_task(of, names) for of in pair.tasks]
    return f"{text}: {', '.join(ways) if verbose else several(ways, 2)}"


def _task(of: TaskDifference, names: Names) -> str:
    if of.said.active != of.seen.active:
        return f"{names.task(of.task_id)} {_who(of.seen, names)}, said {_who(of.said, names)}"
    copies = [" ".join(names.instances(held.copies)) or "none" for held in (of.seen, of.said)]
    return f"{names.task(of.task_id)} copies {copies[0]}, said {copies[1]}"


def _who(held: HeldBy, names: Names) -> str:
    return "nobody" if held.active is None else names.instance(held.active)


def _notes(found: SaidAndHappened) -> list[str]:
    notes = []
    if found.assumed:
        notes.append(
            "When the event happened is not told (--from TIME): the first generations count as at the same time"
        )
    if found.later:
        later = f"{count(found.later, 'later generation')} of the history"
        notes.append(f"{later} that something else started: --to POINT counts those up to it in")
    return notes
