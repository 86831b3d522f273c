"""What the tables' first lines say, for people who have never typed a command: nothing that one is to type.

Options are named only as where a figure comes from, or why there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from kstream_plan.render.report.page import Labelled
from kstream_plan.render.text.page import Fact

_CAPTIONS = {
    "SETTLES": "It settles",
    "SETTLED": "It is settled",
    "TAKES": "It takes",
    "STUCK": "It gets stuck",
    "CYCLES": "It goes round in circles",
    "STOPPED": "The plan stops before the end",
    "RUNS": "When everything runs",
    "NOBODY": "Nobody runs",
    "WHY": "Why so long",
    "IF": "With other settings",
    "NEXT": "What is left",
    "MOVES": "What moves",
    "PAUSES": "What stands still",
    "RESTORE": "What is restored",
    "RATES": "At which rates",
    "BALANCE": "How even the load is",
    "RANGE": "How sure that is",
    "RELIEF": "What the busiest instance runs",
    "COPIES": "Copies",
    "SETTINGS": "Settings",
    "OUTAGE": "Who is away unnoticed",
    "EITHER": "What may be either way",
    "TASKS": "Tasks",
    "NOW": "If they stop now",
    "NOTICED": "When the group notices",
    "OTHERS": "What else stands still",
    "BUSIEST": "What the busiest instance runs",
    "AFTER": "Afterwards",
    "WAIT": "If one waits",
    "LAGS": "How old the lags are",
    "AGAIN": "When all runs again",
    "FIRST": "What came otherwise first",
    "LASTS": "How long it took",
    "END": "In the end",
}
#: What a table says for whoever typed a command → what it is to people who see only the page.
_INSTEAD = (
    (r"No --restore-rate is known", "How fast, and so how long, is not known (no --restore-rate)"),
    (r"; no --restore-rate: not estimated since", "; how far copies have come since is not known (no --restore-rate)"),
    (r" \(--restore-rate\)", ", for nobody told how fast (no --restore-rate)"),
    (r"^(restored .*)(, written .*); from options$", r"\1 (--restore-rate)\2 (--produce-rate)"),
    (r"^(restored .*); from options$", r"\1 (--restore-rate)"),
    (r"^(written .*); from options$", r"\1 (--produce-rate)"),
    (r"\b([\d,]+) items\b", r"\1 connectors and tasks"),
    (r"(; |nobody runs )(~?\d[\d.,dhms ]*) in all\b", r"\1\2 summed over connectors and tasks"),
    (r"^none: (the )?busiest", r"\1busiest"),
    (r"^everything after ", "everything runs after "),
    (
        r"the limit was --max-rounds ([\d,]+): the whole plan needs about ([\d,]+)",
        r"played were \1 rounds; the whole plan needs about \2",
    ),
    (r"the limit was --max-rounds ([\d,]+): .*", r"played were \1 rounds, and more follow"),
    (r"--max-warmup-replicas ([\d,]+)", r"max.warmup.replicas=\1"),
    (r"\. At once with --leave", "; at once, if they leave the group cleanly"),
    (r"; see --draws", ""),
    (r" \(--from TIME\)", ""),
    (r": --to POINT counts those up to it in", ""),
    (r"; how far behind: kstream-plan .*", ""),
    (r"([;,]) least ([\d,]+)", r"\1 at least \2 have to"),
)


def plain(text: str) -> str:
    """Return a text of a table without options and commands."""
    for pattern, instead in _INSTEAD:
        text = re.sub(pattern, instead, text)
    return text


def captioned(fact: Fact, other: Mapping[str, str] = MappingProxyType({})) -> Labelled:
    """Return one of the first lines below a caption that needs no explanation, one of the ``other`` if it has it."""
    caption = other.get(fact.label) or _CAPTIONS.get(fact.label, fact.label.capitalize())
    text = fact.forms[0].removeprefix("runs ") if fact.label == "NOBODY" else fact.forms[0]
    return Labelled(caption, plain(text))


def all_captioned(facts: Iterable[Fact], other: Mapping[str, str] = MappingProxyType({})) -> Iterator[Labelled]:
    """Yield the first lines without those that only say what to type; of one label, or none, they are one."""
    last: Labelled | None = None
    for fact in facts:
        if fact.label == "NEXT" and "kstream-plan " in fact.forms[0]:
            continue
        here = captioned(fact, other)
        if last is not None and here.label in ("", last.label):
            last = last._replace(text=f"{last.text}; {here.text}")
            continue
        if last is not None:
            yield last
        last = here
    if last is not None:
        yield last
