"""The axis of time of a figure: where on it a time is, its ticks, and what happens as marks across it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kstream_plan.plans import MemberLeft, Plan, Trigger
from kstream_plan.plans.activity import Activity
from kstream_plan.plans.timeline import Timeline
from kstream_plan.render.report.picture import head_of
from kstream_plan.render.text.names import Names
from kstream_plan.render.text.numbers import count, duration

#: So wide is a row in the units of its shapes.
WIDTH = 10_000
_MOST_TICKS = 8
_MOST_MARKS = 40
#: So wide is a letter of a mark, in the units of shapes; on a narrow screen so many times as wide.
_SIGN = 95
_NARROW = 3
#: A longer name of an instance is none of a mark.
_LONG_NAME = 24
_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
_TICKS_MS = (
    *(_SECOND * of for of in (1, 2, 5, 10, 15, 30)),
    *(_MINUTE * of for of in (1, 2, 5, 10, 15, 30)),
    *(_HOUR * of for of in (1, 2, 3, 6, 12)),
    *(_DAY * of for of in (1, 2, 5, 10, 20, 50, 100)),
)


class Span(NamedTuple):
    """An axis without a plan."""

    from_ms: int
    to_ms: int


class Tick(NamedTuple):
    """A time on the axis: how far to the right, in percent of the width, and what it says.

    ``before``, ``tight``: as of :class:`Mark`.
    """

    percent: str
    text: str
    before: bool
    tight: bool


class Mark(NamedTuple):
    """Something that happens: how far to the right, what (empty if there is no room), and whether it is a probe.

    ``before``: the text ends there, rather than to begin. ``tight``: on a narrow screen there is no room for it.
    """

    percent: str
    text: str
    is_probe: bool
    before: bool
    tight: bool


class _Word(NamedTuple):
    """What happens when, in texts of which the first is said for which there is room."""

    at_ms: int
    texts: tuple[str, ...]
    is_probe: bool = False


def x_of(at_ms: int, of: Timeline | Span) -> int:
    """Return how far to the right a time is, in the units of shapes."""
    return round(WIDTH * (min(at_ms, of.to_ms) - of.from_ms) / (of.to_ms - of.from_ms))


def _percent(at_ms: int, of: Timeline | Span) -> str:
    return f"{x_of(at_ms, of) * 100 / WIDTH:g}"


def ticks_of(of: Timeline | Span) -> tuple[Tick, ...]:
    """Return the ticks of an axis, at round times."""
    length = of.to_ms - of.from_ms
    step = next((step for step in _TICKS_MS if length / step <= _MOST_TICKS), _TICKS_MS[-1])
    return tuple(_tick(at_ms, of, tight=bool(place % 2)) for place, at_ms in enumerate(range(0, of.to_ms + 1, step)))


def _tick(at_ms: int, of: Timeline | Span, *, tight: bool) -> Tick:
    text = duration(at_ms)
    before, beyond = (x_of(at_ms, of) + sign * (1 + len(text)) > WIDTH for sign in (_SIGN, _SIGN * _NARROW))
    return Tick(_percent(at_ms, of), text, before, tight or beyond)


def marks_of(plan: Plan, found: Sequence[Activity], of: Timeline, names: Names) -> Iterator[Mark]:
    """Yield what starts rebalances, of many without the probes, and when who leaves had stopped, if that was before."""
    shown = [event for event in found if event.probe is None or len(found) <= _MOST_MARKS]
    words = [word for event in shown for word in _words(plan, event, of, names)]
    wide, narrow = (_placed(words, of, sign) for sign in (_SIGN, _SIGN * _NARROW))
    for place, word in enumerate(words):
        text, before = wide.get(place, ("", False))
        yield Mark(_percent(word.at_ms, of), text, word.is_probe, before, narrow.get(place) != (text, before))


def _words(plan: Plan, event: Activity, of: Timeline, names: Names) -> Iterator[_Word]:
    first = event.rounds[0]
    head = "delay over" if plan.is_of_workers and first.trigger is Trigger.DEADLINE else head_of(event)
    left = [step for step in first.member_steps if isinstance(step, MemberLeft)]
    late = [step for step in left if step.stopped_at_ms >= 0 and duration(step.stopped_at_ms) != duration(first.at_ms)]
    if not late:
        yield _Word(first.at_ms, (head,), event.probe is not None)
        return
    since_ms = min(step.stopped_at_ms for step in late)
    name = names.instance(late[0].process_id)
    several = len(late) > 1 or len(name) > _LONG_NAME
    who = count(len(late), "worker" if plan.is_of_workers else "instance") if several else name
    stops = f"{who} {'stops' if len(late) == 1 else 'stop'} {duration(since_ms)}"
    noticed = f"{'' if first.trigger is Trigger.LEAVE else f'{head}, '}noticed {duration(first.at_ms)}"
    if x_of(first.at_ms, of) - x_of(since_ms, of) > _SIGN * (1 + len(stops)):
        yield _Word(since_ms, (stops,))
        yield _Word(first.at_ms, (noticed, head))
    else:
        yield _Word(since_ms, ())
        yield _Word(first.at_ms, (f"{stops}, {noticed}", head))


def _placed(words: Sequence[_Word], of: Timeline, sign: int) -> Mapping[int, tuple[str, bool]]:
    """Return by place of a word what is said there, and whether it ends there; nothing where there is no room.

    Words go where there is room, probes last. A word without room of its own goes on the one that covers its place, if
    that still ends before the next.
    """
    at = [x_of(word.at_ms, of) for word in words]
    taken: dict[int, tuple[int, int]] = {}
    said: dict[int, tuple[str, bool]] = {}

    def say(place: int, text: str, *, before: bool) -> bool:
        length = sign * (1 + len(text))
        begin = at[place] - length if before else at[place]
        others = (span for other, span in taken.items() if other != place)
        room = begin >= 0 and begin + length <= WIDTH and all(begin + length <= a or b <= begin for a, b in others)
        if room:
            taken[place], said[place] = (begin, begin + length), (text, before)
        return room

    for place in sorted(range(len(words)), key=lambda place: (words[place].is_probe, place)):
        texts = words[place].texts
        if any(say(place, text, before=before) for text in texts for before in (False, True)):
            continue
        covering = [one for one, (begin, end) in taken.items() if begin == at[one] <= at[place] < end]
        if texts and covering and not words[place].is_probe:
            both = f"{said[covering[0]][0]}, {texts[-1]}"
            following = min((other for other in at if other > at[place]), default=WIDTH)
            if at[covering[0]] + sign * (1 + len(both)) <= following:
                say(covering[0], both, before=False)
    return said
