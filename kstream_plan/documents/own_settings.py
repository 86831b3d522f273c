"""What ``--set NAME=VALUE`` takes that is no setting of Kafka's: options that few type, each with how it is read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime, time, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from kstream_plan.model.times import EPOCH, duration


class OwnSetting(NamedTuple):
    """A value of ``--set``: how its text is read (else ``ValueError``), one that it can be, and what it is."""

    parse: Callable[[str], Any]
    sample: str
    text: str


def _quantity(name: str) -> Callable[[str], Any]:
    """Return a reader of :mod:`kstream_plan.documents.quantities`, which is loaded when it reads: not for help."""

    def parse(text: str) -> Any:
        return getattr(import_module("kstream_plan.documents.quantities"), name)(text)

    return parse


_DURATION, _RATE, _SIZE, _TRUTH, _WHOLE_NUMBER = map(
    _quantity, ("parse_duration", "parse_rate", "parse_size", "parse_truth", "parse_whole_number")
)


def _number(low: int = 1, high: float = float("inf")) -> Callable[[str], int]:
    def parse(text: str) -> int:
        number: int = _WHOLE_NUMBER(text)
        if not low <= number <= high:
            raise ValueError(f"{text} is {f'above {high}' if number >= low else f'below {low}'}")
        return number

    return parse


def _bounded(parse: Callable[[str], int], low_and_high: Callable[[], tuple[int, float]]) -> Callable[[str], int]:
    def parse_within(text: str) -> int:
        low, high = low_and_high()
        if not low <= (value := parse(text)) <= high:
            raise ValueError(
                f"{text} is {f'above {duration(int(high))}' if value > high else f'below {duration(low)}'}"
            )
        return value

    return parse_within


def _probe_range() -> tuple[int, int]:
    from kstream_plan.assignors.planned.target_file import PROBE_RANGE_MS  # noqa: PLC0415 - not for help

    return PROBE_RANGE_MS


def _warmups(text: str) -> int:
    from kstream_plan.assignors.planned.target_file import MAX_WARMUPS  # noqa: PLC0415 - not for help

    return _number(high=MAX_WARMUPS)(text)


def _one_of(choices: Callable[[], Iterable[str]]) -> Callable[[str], str]:
    return _key_of(lambda: {name: name for name in choices()})


def _key_of(choices: Callable[[], Mapping[str, str]]) -> Callable[[str], str]:
    """Return a parser of these names, whose error lists them in the words that they are mapped to."""

    def parse(text: str) -> str:
        if text not in (names := choices()):
            raise ValueError(f"{text!r} is not one of {', '.join(names.values())}")
        return text

    return parse


def _above_0(parse: Callable[[str], Any], message: str) -> Callable[[str], Any]:
    def parse_above_0(text: str) -> Any:
        if not (value := parse(text)):
            raise ValueError(message)
        return value

    return parse_above_0


def _assignors() -> Mapping[str, str]:
    from kstream_plan.assignors import ASSIGNORS, with_needs  # noqa: PLC0415 - not for what shows a saved plan

    return {name: with_needs(name) for name in sorted(ASSIGNORS)}


def _triggers() -> Iterable[str]:
    from kstream_plan.plans import Trigger  # noqa: PLC0415 - not for what shows a saved plan

    later_only = (Trigger.FOLLOW_UP, Trigger.LEARNER_READY, Trigger.DEADLINE)
    return [trigger.value for trigger in Trigger if trigger not in later_only]


def _protocols() -> Iterable[str]:
    from kstream_plan.protocols import PROTOCOLS  # noqa: PLC0415 - not for what shows a saved plan

    return sorted(PROTOCOLS)


def _date_orders() -> Iterable[str]:
    from kstream_plan.snapshots.leader_log.log_times import DATE_ORDERS  # noqa: PLC0415 - not for saved plans

    return DATE_ORDERS


def _moment_ms(text: str) -> int:
    """Return a time, or the end of a day, since 1970."""
    from kstream_plan.documents.policy_file import parse_date  # noqa: PLC0415 - not for help
    from kstream_plan.snapshots.rows.fields import parse_time  # noqa: PLC0415 - not for saved plans

    try:
        if "T" in text.upper():
            return parse_time(text)
        end_of_day = datetime.combine(parse_date(text), time(23, 59, 59), UTC)
        return (end_of_day - EPOCH) // timedelta(milliseconds=1)
    except ValueError as error:
        raise ValueError(f"{error}, nor a time like 2027-01-31T12:00:00Z") from None


def _text(text: str) -> str:
    if not text:
        raise ValueError("the value is empty")
    return text


def _path(text: str) -> Path:
    return Path(_text(text))


def parse_release(text: str) -> str:
    """Return which release of Kafka it is; else ``ValueError``."""
    from kstream_plan.model.releases import kafka_release  # noqa: PLC0415 - not for help

    release = kafka_release(text)
    if release is None:
        raise ValueError(f"{text!r} is not a release of Kafka")
    return release


STORES = ("persistent", "in-memory")
#: How results are written as a data set.
FORMS = ("parquet", "jsonl")
#: What ``--set`` puts over a snapshot, as Kafka's settings; ``restore_rate`` has an option as well.
OF_SNAPSHOTS: Mapping[str, OwnSetting] = {
    "stores": OwnSetting(_one_of(lambda: STORES), "persistent", "Where stores are, if that is unknown."),
    "release": OwnSetting(parse_release, "3.4.1", "Release of Kafka Streams, or of the Connect workers."),
    "produce_rate": OwnSetting(_RATE, "100/s", "Records written to each task."),
    "restore_rate": OwnSetting(
        _above_0(_RATE, "a restore rate has to be above 0"), "5000/s", "Restore throughput per instance."
    ),
    "lags_tolerance": OwnSetting(_DURATION, "1m", "Time that lag rows may be newer than the snapshot."),
    "lags_as_reported": OwnSetting(_TRUTH, "true", "Lags as members report them, not as they are stored."),
    "rates_over": OwnSetting(
        _above_0(_DURATION, "rates need a time above 0"), "1h", "Time over which rates are measured."
    ),
}
#: What ``--set`` gives a command, by the attribute of its options.
OF_COMMANDS: Mapping[str, OwnSetting] = {
    "assignor": OwnSetting(
        _key_of(_assignors),
        "high-availability",
        "Assignor: high-availability (default), balanced (needs the extra [balanced]), or planned (needs target=FILE).",
    ),
    "back": OwnSetting(_TRUTH, "true", "Go back to where the plan began."),
    "bounds": OwnSetting(_TRUTH, "true", "Also compute the minimum of state to restore (needs the extra [balanced])."),
    "broker_version": OwnSetting(_text, "4.3", "Release of a streams group's brokers: 4.2, 4.3 or 4.4."),
    "draws": OwnSetting(
        _number(high=1_000_000), "500", "Number of random simulations (default: by size, at most 200; upgrade: 10)."
    ),
    "draws_within": OwnSetting(
        _above_0(_DURATION, "draws need a time above 0"),
        "30s",
        "Time limit for random simulations; their number then depends on the machine.",
    ),
    "every": OwnSetting(
        _bounded(_DURATION, lambda: (1_000, float("inf"))), "10s", "Time between two polls (default: 5s)."
    ),
    "expires_in": OwnSetting(_DURATION, "2h", "Time until the file does not count (default: 2h)."),
    "full": OwnSetting(_TRUTH, "true", "JSON with the complete outcome of each rebalance."),
    "java_home": OwnSetting(_path, "/usr/lib/jvm/21", "Java home for Spark, instead of the Java installed along."),
    "keep_going": OwnSetting(_TRUTH, "true", "Report applications that fail and go on with the others."),
    "log_dates": OwnSetting(
        _one_of(_date_orders), "dmy", "Order of day, month and year in the logs' dates, if they do not tell it."
    ),
    "max_rounds": OwnSetting(_number(), "200", "Largest number of rebalances to simulate."),
    "max_text": OwnSetting(
        _above_0(_SIZE, "texts need a size above 0"),
        "1GiB",
        "Largest text to read from one input, unpacked (default: 4GiB, packed files 256MiB).",
    ),
    "names": OwnSetting(_path, "names.yaml", "Hosts and racks by process id, client id or host (YAML, JSON)."),
    "new_round": OwnSetting(_number(0), "3", "Rebalance of the plan NEW to compare with (default: the last)."),
    "now": OwnSetting(
        _moment_ms,
        "2027-01-31",
        "Time that counts as now (default: --as-of, else the clock in drain, bounce --instance and check).",
    ),
    "offsets_topic": OwnSetting(_TRUTH, "true", "Read every generation of the group from __consumer_offsets."),
    "old_round": OwnSetting(_number(0), "3", "Rebalance of the plan OLD to compare from (default: the last)."),
    "one_bounce": OwnSetting(
        _TRUTH, "true", "Ask for a single rolling bounce; it is refused with its reason and exit code 3."
    ),
    "out_format": OwnSetting(
        _one_of(lambda: FORMS),
        "parquet",
        f"Data set with one row per application, {' or '.join(FORMS)}; --out is its folder, where Spark can write.",
    ),
    "over": OwnSetting(
        _above_0(_DURATION, "a time above 0 is needed"), "24h", "Time to look back from the newest row (default: 24h)."
    ),
    "overwrite": OwnSetting(_TRUTH, "true", "Replace an existing data set."),
    "probe": OwnSetting(_bounded(_DURATION, _probe_range), "15s", "Time between probes (default: 15s)."),
    "protocol": OwnSetting(_one_of(_protocols), "eager", "Rebalance protocol of the group."),
    "protocol_view": OwnSetting(
        _TRUTH, "true", "Show the protocol (KIP-429): the leader's view, rejoins, callbacks of each member."
    ),
    "ranges": OwnSetting(
        _TRUTH, "true", "Also compute the range of outcomes for long plans (slow; saved plans have it)."
    ),
    "record_size": OwnSetting(_number(), "200", "Bytes of a record, to show restored bytes as well."),
    "show_ranks": OwnSetting(_TRUTH, "true", "Show the ranked candidates of each task."),
    "target": OwnSetting(_path, "target.properties", "Target file that assignor=planned follows."),
    "timeout": OwnSetting(_DURATION, "15s", "Longest wait for a silent pipe or broker."),
    "top": OwnSetting(_number(), "20", "Maximum number of rows."),
    "trigger": OwnSetting(_one_of(_triggers), "join", "Trigger of rebalance 1 (default: join if an instance is new)."),
    "trust_reports_of": OwnSetting(
        _DURATION,
        "1m",
        "Age up to which a report of a copy counts as true (default: 1m if measured, else a heartbeat).",
    ),
    "warmups": OwnSetting(_warmups, "2", "Warm-ups at a time (default: as in the plan)."),
    "what_if": OwnSetting(_TRUTH, "false", "Whether other settings are simulated as well."),
}
OWN_SETTINGS: Mapping[str, OwnSetting] = {**OF_SNAPSHOTS, **OF_COMMANDS}


def names_path(name: str) -> bool:
    """Return True if ``--set`` takes a path by this name."""
    key = name.strip().replace(".", "_")
    return key in OWN_SETTINGS and OWN_SETTINGS[key].parse is _path


def settings_taken(by_set: Collection[str]) -> Mapping[str, OwnSetting]:
    """Return what ``--set`` takes of these attributes of a command; with ``settings`` among them, that of snapshots."""
    of_snapshots = OF_SNAPSHOTS if "settings" in by_set else {}
    return {**of_snapshots, **{name: setting for name, setting in OWN_SETTINGS.items() if name in by_set}}
