"""What looks like an answer in metrics and is none: each is told, none is passed over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kstream_plan.model import Note
from kstream_plan.model.note import name_list
from kstream_plan.model.times import duration
from kstream_plan.snapshots.metrics.lags import DoubtfulLag, MeasuredLag
from kstream_plan.snapshots.metrics.scrapes import Scrape
from kstream_plan.snapshots.rows.fields import printable

#: Scrape and end offsets are of the same moment if they are no further apart.
_APART_MS = 1_000

#: The rule of jmx_exporter that publishes what is needed.
_RULE = (
    "- pattern: kafka.consumer<type=consumer-fetch-manager-metrics, (.+)=(.+), (.+)=(.+), (.+)=(.+)><>"
    '(records-lead|records-lag), name: kafka_consumer_$7, labels: {"$1": "$2", "$3": "$4", "$5": "$6"}'
)


#: What is said of lags that scrape and offsets do not tell alike.
_DOUBTS = {
    DoubtfulLag.ENDS_BELOW: (
        "end offsets are below what the scrape itself (position and records-lag) or the snapshot says, by more than is "
        "written while both are read: they are older, or of another cluster, and the lags are only lower bounds"
    ),
    DoubtfulLag.STARTS_LATE: (
        "the start offsets were read after the scrape: by what was deleted in between copies look closer than they "
        "are, and the lags are only lower bounds; read them before scraping"
    ),
    DoubtfulLag.UNTIMED: (
        "scrapes that do not say when they were taken are files of after the end offsets, or of more than a probing "
        "interval before: which of them belong together is unknown, and the lags are lower bounds; write the time "
        "into a comment at the top of the scrape, or look up the end offsets again"
    ),
}


def notes_about_scrapes(scrapes: Sequence[Scrape]) -> list[Note]:
    """Return warnings about scrapes that say less than they seem to."""
    failed = [scrape.place for scrape in scrapes if scrape.failed]
    dropped = [scrape.place for scrape in scrapes if not scrape.positions]
    unrecorded = [scrape.place for scrape in scrapes if scrape.updates_unrecorded]
    odd = [f"{scrape.place}: {value}" for scrape in scrapes for value in scrape.odd]
    untimed = [scrape.place for scrape in scrapes if scrape.positions and not scrape.has_own_time]
    notes = []
    if untimed:
        message = (
            f"{_first(untimed)} has no time of its scrape: the time of the file is used, the scrape may be older, and "
            "gives no rate; put a comment with the time at its top"
        )
        notes.append(Note("scrape-untimed", message))
    if failed:
        message = (
            f"jmx_exporter stopped early in {_first(failed)} (jmx_scrape_error 1): whatever came after is missing; "
            "look into the instance's log, a rule may name a group that its pattern does not have"
        )
        notes.append(Note("scrape-failed", message))
    if dropped:
        message = (
            f"{_first(dropped)} {'have' if len(dropped) > 1 else 'has'} no position of any restore consumer "
            "(records-lead): the instance has no copies but its active tasks, started less than a minute ago "
            f"(Micrometer), or a rule file drops it; then add to its rules {_RULE}"
        )
        notes.append(Note("positions-missing", message))
    if unrecorded:
        message = (
            f"update-total is 0 in {_first(unrecorded)} although standbys exist: it is recorded at "
            "metrics.recording.level DEBUG only, and is not used"
        )
        notes.append(Note("debug-metrics-unrecorded", message))
    if odd:
        notes.append(Note("odd-positions", f"values that are not positions are left out: {_first(odd)}"))
    return notes


def notes_about_offsets(
    lags: Mapping[tuple[str, str], MeasuredLag],
    rates: Mapping[str, float],
    *,
    windowed: Sequence[str],
    without_starts: Sequence[str],
    any_ends: bool,
) -> list[Note]:
    """Return warnings about the offsets that the lags rest on.

    Args:
        lags: by process and task.
        rates: task → records written per second, as far as it is known.
        windowed: tasks with a store whose records expire.
        without_starts: tasks with an unknown start offset.
        any_ends: whether end offsets are known at all.
    """
    notes = []
    least = sorted({task for (_, task), lag in lags.items() if lag.at_least})
    late = max((lag.ends_late_ms for lag in lags.values()), key=abs, default=0)
    for doubt, message in _DOUBTS.items():
        doubtful = sorted({task for (_, task), lag in lags.items() if lag.doubt is doubt})
        if doubtful:
            notes.append(Note(f"lags-{doubt}", f"{message}, task {doubtful[0]} first", tuple(doubtful)))
    if least and not any_ends:
        message = (
            "without end offsets only lower bounds of lags are known (records-lag does not change while nothing is "
            "fetched): give end offsets; none of these copies counts as safe"
        )
        notes.append(Note("lags-at-least", message, tuple(least)))
    elif least:
        message = (
            "only a lower bound of the lag of some copies is known: end offsets are missing, or older than the "
            "scrape; none of them counts as safe"
        )
        notes.append(Note("lags-at-least", message, tuple(least)))
    if abs(late) >= _APART_MS:
        notes.append(Note("offsets-apart", _apart(late, rates)))
    if interpolated_lags := [lag for lag in lags.values() if lag.apart_ms >= _APART_MS]:
        message = (
            "scrapes were taken between two readings of the end offsets, up to "
            f"{duration(max(lag.apart_ms for lag in interpolated_lags))} apart: lags are the true ones give or take "
            "what was written in between, "
            f"up to {max(lag.error_records for lag in interpolated_lags):,} records of a task"
        )
        notes.append(Note("offsets-between", message))
    if without_starts:
        expiring = sorted(set(windowed) & set(without_starts))
        example = f", as those of {printable(expiring[0])} are (windowed)" if expiring else ""
        message = (
            "without start offsets every changelog is assumed to start at 0: where records have been deleted from its "
            f"beginning{example}, copies look further behind than they are: give --metrics start=FILE"
        )
        notes.append(Note("start-offsets-unknown", message, tuple(expiring)))
    return notes


def old_scrapes(lags: Iterable[MeasuredLag], reference_ms: int, probing_interval_ms: int) -> list[Note]:
    """Return a warning if a scrape is older than a probing interval: by then the group has looked again itself."""
    oldest = min((lag.at_ms for lag in lags if lag.at_ms is not None), default=reference_ms)
    if reference_ms - oldest <= probing_interval_ms:
        return []
    message = (
        f"the oldest scrape is {duration(reference_ms - oldest)} old, more than probing.rebalance.interval.ms "
        f"({duration(probing_interval_ms)}): scrape again"
    )
    return [Note("scrape-old", message)]


def _apart(late_ms: int, rates: Mapping[str, float]) -> str:
    order = "after" if late_ms > 0 else "before"
    effect = "counts as lag" if late_ms > 0 else "is missing in the lags"
    head = (
        f"the end offsets were read {duration(abs(late_ms))} {order} the scrape: what was written in between {effect}"
    )
    if not rates:
        return head
    return f"{head}, up to {max(rates.values()) * abs(late_ms) / 1000:,.0f} records of a task"


def _first(names: Sequence[str]) -> str:
    return name_list(names, 1)
