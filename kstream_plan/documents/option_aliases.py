"""Old names of options: for one release they are understood as what they are called now, with a warning."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple


class Alias(NamedTuple):
    """What an old option is called now: the option, and what stands before the value there."""

    option: str
    prefix: str = ""

    def words(self, value: str) -> tuple[str, str]:
        """Return how the value is given now."""
        return self.option, f"{self.prefix}{value}"


#: Settings that were options of their own.
_SETTINGS = (
    *("balance.factor", "heartbeat.interval.ms", "produce.rate", "session.timeout.ms", "state.cleanup.delay.ms"),
    *("rack.aware.assignment.tags", "rack.aware.assignment.strategy", "stores"),
    *("rack.aware.assignment.traffic_cost", "rack.aware.assignment.non_overlap_cost"),
)
#: Every old option that takes a value.
ALIASES: Mapping[str, Alias] = {
    f"--{name.removesuffix('.ms').replace('.', '-').replace('_', '-')}": Alias("--set", f"{name}=")
    for name in _SETTINGS
}


class ModernWords(NamedTuple):
    """A command line in today's options, and a warning for each old one."""

    words: Sequence[str]
    warnings: Sequence[str]


def modern_words(words: Sequence[str], with_value: Collection[str]) -> ModernWords:
    """Return a command line with today's name for every old option; ``with_value``: the command's that take a value."""
    modern: list[str] = []
    warnings: list[str] = []
    rest: Iterator[str] = iter(words)
    for word in rest:
        if word == "--":
            modern += [word, *rest]
            break
        old, equals, value = word.partition("=")
        alias = ALIASES.get(old)
        value_follows = word in with_value or (alias is not None and not equals)
        next_word = next(rest, None) if value_follows else None
        if alias is None or alias.option not in with_value or (value_follows and next_word is None):
            modern += [word] if next_word is None else [word, next_word]
            continue
        new_words = alias.words(value if next_word is None else next_word)
        modern += new_words
        warnings.append(f"{old} goes with the next release: write {shlex.join(new_words)}")
    return ModernWords(modern, warnings)
