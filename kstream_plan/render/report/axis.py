"""The axis of time of a figure: where on it a time is, its ticks, and what happens as marks across it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kstream_plan.plans import MemberLeft, Plan, Trigger
from kstream_plan.plans.rebalance_events import RebalanceEvent
from kstream_plan.plans.timeline import Timeline
from kstream_plan.render.pages.plan_rounds import trigger_word
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
    *(_SECOND * number for number in (1, 2, 5, 10, 15, 30)),
    *(_MINUTE * number for number in (1, 2, 5, 10, 15, 30)),
    *(_HOUR * number for number in (1, 2, 3, 6, 12)),
    *(_DAY * number for number in (1, 2, 5, 10, 20, 50, 100)),
)


class Span(NamedTuple):
    """An axis without a plan."""

    from_ms: int
    to_ms: int


class Mark(NamedTuple):
    """A time on the axis, or something that happens.

    percent: how far to the right, in percent of the width.
    text: what it says; empty if there is no room.
    is_before: the text ends there, rather than to begin.
    tight: on a narrow screen there is no room for it.
    is_probe: it is a probe.
    """

    percent: str
    text: str
    is_before: bool
    tight: bool
    is_probe: bool = False


class _Word(NamedTuple):
    """What happens when, in texts of which the first is said for which there is room."""

    at_ms: int
    texts: tuple[str, ...]
    is_probe: bool = False


def x_of(at_ms: int, axis: Timeline | Span) -> int:
    """Return how far to the right a time is, in the units of shapes."""
    return round(WIDTH * (min(at_ms, axis.to_ms) - axis.from_ms) / (axis.to_ms - axis.from_ms))


def _percent(at_ms: int, axis: Timeline | Span) -> str:
    return f"{x_of(at_ms, axis) * 100 / WIDTH:g}"


def ticks_of(axis: Timeline | Span) -> tuple[Mark, ...]:
    """Return the ticks of an axis, at round times."""
    length = axis.to_ms - axis.from_ms
    step = next((step for step in _TICKS_MS if length / step <= _MOST_TICKS), _TICKS_MS[-1])
    return tuple(
        _tick(at_ms, axis, tight=bool(place % 2)) for place, at_ms in enumerate(range(0, axis.to_ms + 1, step))
    )


def _tick(at_ms: int, axis: Timeline | Span, *, tight: bool) -> Mark:
    text = duration(at_ms)
    is_before, is_beyond = (x_of(at_ms, axis) + sign * (1 + len(text)) > WIDTH for sign in (_SIGN, _SIGN * _NARROW))
    return Mark(_percent(at_ms, axis), text, is_before, tight or is_beyond)


def marks_of(plan: Plan, activities: Sequence[RebalanceEvent], axis: Timeline, names: Names) -> Iterator[Mark]:
    """Yield what starts rebalances, of many without the probes, and when who leaves had stopped, if that was before."""
    events = [event for event in activities if event.probe is None or len(activities) <= _MOST_MARKS]
    words = [word for event in events for word in _words(plan, event, axis, names)]
    wide, narrow = (_placed(words, axis, sign) for sign in (_SIGN, _SIGN * _NARROW))
    for place, word in enumerate(words):
        text, is_before = wide.get(place, ("", False))
        yield Mark(_percent(word.at_ms, axis), text, is_before, narrow.get(place) != (text, is_before), word.is_probe)


def head_of(event: RebalanceEvent, plan: Plan) -> str:
    """Return an event in a word: the number of the probe, or what started it."""
    return trigger_word(event, of_workers=plan.is_of_workers) if event.probe is None else str(event.probe)


def _words(plan: Plan, event: RebalanceEvent, axis: Timeline, names: Names) -> Iterator[_Word]:
    first = event.rounds[0]
    head = head_of(event, plan)
    departures = [step for step in first.member_steps if isinstance(step, MemberLeft)]
    late = [
        step for step in departures if step.stopped_at_ms >= 0 and duration(step.stopped_at_ms) != duration(first.at_ms)
    ]
    if not late:
        yield _Word(first.at_ms, (head,), event.probe is not None)
        return
    since_ms = min(step.stopped_at_ms for step in late)
    name = names.instance(late[0].process_id)
    is_plural = len(late) > 1 or len(name) > _LONG_NAME
    members = count(len(late), "worker" if plan.is_of_workers else "instance") if is_plural else name
    stops = f"{members} {'stops' if len(late) == 1 else 'stop'} {duration(since_ms)}"
    notice = f"{'' if first.trigger is Trigger.LEAVE else f'{head}, '}noticed {duration(first.at_ms)}"
    if x_of(first.at_ms, axis) - x_of(since_ms, axis) > _SIGN * (1 + len(stops)):
        yield _Word(since_ms, (stops,))
        yield _Word(first.at_ms, (notice, head))
    else:
        yield _Word(since_ms, ())
        yield _Word(first.at_ms, (f"{stops}, {notice}", head))


def _placed(words: Sequence[_Word], axis: Timeline, sign: int) -> Mapping[int, tuple[str, bool]]:
    """Return by place of a word what is said there, and whether it ends there; nothing where there is no room.

    Words go where there is room, probes last. A word without room of its own goes on the one that covers its place, if
    that still ends before the next.
    """
    positions = [x_of(word.at_ms, axis) for word in words]
    spans: dict[int, tuple[int, int]] = {}
    labels: dict[int, tuple[str, bool]] = {}

    def place_label(place: int, text: str, *, is_before: bool) -> bool:
        length = sign * (1 + len(text))
        begin = positions[place] - length if is_before else positions[place]
        other_spans = (span for other_place, span in spans.items() if other_place != place)
        room = begin >= 0 and begin + length <= WIDTH and all(begin + length <= a or b <= begin for a, b in other_spans)
        if room:
            spans[place], labels[place] = (begin, begin + length), (text, is_before)
        return room

    for place in sorted(range(len(words)), key=lambda place: (words[place].is_probe, place)):
        texts = words[place].texts
        if any(place_label(place, text, is_before=is_before) for text in texts for is_before in (False, True)):
            continue
        neighbours = [
            neighbour
            for neighbour, (begin, end) in spans.items()
            if begin == positions[neighbour] <= positions[place] < end
        ]
        if texts and neighbours and not words[place].is_probe:
            label = f"{labels[neighbours[0]][0]}, {texts[-1]}"
            next_position = min((position for position in positions if position > positions[place]), default=WIDTH)
            if positions[neighbours[0]] + sign * (1 + len(label)) <= next_position:
                place_label(neighbours[0], label, is_before=False)
    return labels
