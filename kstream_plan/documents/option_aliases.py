"""Old names of options: for one release they stand for the new names, with a warning."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple


class Alias(NamedTuple):
    """What an old option is called now.

    option: the option; without dashes the argument of that name.
    prefix: what stands before the value there.
    value: that of a flag; empty: the old option takes one.
    alternative_prefixes: prefixes that count instead where what stands before their colon is on the command line.
    is_implied: the option says it by itself.
    """

    option: str
    prefix: str = ""
    value: str = ""
    alternative_prefixes: tuple[str, ...] = ()
    is_implied: bool = False

    def words(self, value: str, line: Sequence[str]) -> list[str]:
        """Return how the value is given now, in this command line."""
        prefixes = [
            prefix for prefix in self.alternative_prefixes if any(prefix.partition(":")[0] in word for word in line)
        ]
        options = [self.option] if self.option.startswith("--") else []
        return [word for prefix in prefixes or [self.prefix] for word in (*options, f"{prefix}{value}")]


#: What was an option of its own and is one of ``--set``; the first four are options where a plan is made.
_SETTINGS = (
    *("acceptable.recovery.lag", "max.warmup.replicas", "num.standby.replicas", "probing.rebalance.interval.ms"),
    *("balance.factor", "heartbeat.interval.ms", "produce.rate", "session.timeout.ms", "state.cleanup.delay.ms"),
    *("rack.aware.assignment.tags", "rack.aware.assignment.strategy", "lags.tolerance", "rates.over"),
    *("rack.aware.assignment.traffic_cost", "rack.aware.assignment.non_overlap_cost"),
    *("draws", "draws.within", "java.home", "log.dates", "max.rounds", "max.text", "protocol", "record.size"),
    *("names", "new.round", "now", "old.round", "stores", "target", "timeout", "trigger", "trust.reports.of"),
    *("assignor", "broker.version", "every", "expires.in", "out.format", "over", "probe", "top", "warmups"),
)
#: Flags that are values of ``--set`` now.
_FLAGS = (
    *(
        "back",
        "bounds",
        "full",
        "keep.going",
        "lags.as.reported",
        "offsets.topic",
        "one.bounce",
        "overwrite",
        "protocol.view",
        "ranges",
        "show.ranks",
    ),
    "what.if",
)
#: What was an option of its own and is one of ``--new``.
_NEW = {"threads": "threads", "client-tags": "tags", "rack": "rack", "add-at": "at", "process-id": "id"}
_DELAYS = ("connect-design-2:delay=", "connect-design-3:delay=")
#: Every old option.
ALIASES: Mapping[str, Alias] = {
    **{
        f"--{name.removesuffix('.ms').replace('.', '-').replace('_', '-')}": Alias("--set", f"{name}=")
        for name in _SETTINGS
    },
    **{f"--{name.replace('.', '-')}": Alias("--set", f"{name}=", value="true") for name in _FLAGS},
    **{f"--{old}": Alias("--new", f"{key}=") for old, key in _NEW.items()},
    "--no-what-if": Alias("--set", "what.if=", value="false"),
    "--max-learners": Alias("--design", "learner:max.learners="),
    "--scale-down-timeout": Alias("--design", "learner:scale.down.timeout.ms="),
    "--connect-delay": Alias("--design", _DELAYS[0], alternative_prefixes=_DELAYS),
    "--connect-defer-join": Alias("--design", "connect-design-2:defer.join=", value="true"),
    "--connect-step": Alias("--design", "connect-design-3:step="),
    "--connect-pause": Alias("--design", "connect-design-3:pause="),
    "--today": Alias("--set", "now="),
    "--all-groups": Alias("--group", value="*"),
    "--final": Alias("--as-snapshot", is_implied=True),
    "--plain": Alias("--color", value="never"),
    "--master": Alias("--spark-conf", "spark.master="),
    **{
        f"--{kind}": Alias("group_paths", f"{kind}=")
        for kind in ("leader-log", "connect-log", "connect-status", "describe-text")
    },
    "--connect-config": Alias("--streams-config"),
    "--end-offsets": Alias("--metrics", "end="),
    "--start-offsets": Alias("--metrics", "start="),
    "--lags": Alias("--metrics", "rows="),
    "--store-lags": Alias("--metrics", "lags="),
}

#: What other tools call options of this one.
OF_OTHER_TOOLS = {"--brokers": "--bootstrap-server", "--interval": "--every", "--poll": "--every"}


class ModernWords(NamedTuple):
    """A command line in today's options, and a warning for each old one."""

    words: Sequence[str]
    warnings: Sequence[str]


def modern_words(words: Sequence[str], with_value: Collection[str]) -> ModernWords:
    """Return a command line with today's name for every old option.

    ``with_value``: the command's options that take a value, and its arguments. Its own option is no old one.
    """
    modern: list[str] = []
    warnings: list[str] = []
    rest: Iterator[str] = iter(words)
    for word in rest:
        if word == "--":
            modern += [word, *rest]
            break
        old, equals, value = word.partition("=")
        alias = ALIASES.get(old)
        if alias is not None and alias.option in with_value and old not in with_value:
            if alias.is_implied:
                warnings.append(f"{old} goes with the next release: {alias.option} says it")
                continue
            new_value = value if equals else alias.value or next(rest, None)
            new_words = alias.words("VALUE" if new_value is None else new_value, words)
            modern += new_words if new_value is not None else [alias.option] * alias.option.startswith("--")
            warnings.append(f"{old} goes with the next release: write {shlex.join(new_words)}")
        else:
            modern += [word, *islice(rest, word.startswith("-") and word in with_value)]
    return ModernWords(modern, warnings)
