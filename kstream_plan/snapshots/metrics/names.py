"""What a metric means, whatever export gave it its name.

Every export spells Kafka's names in its own way (``records-lead`` of ``consumer-fetch-manager-metrics``):
jmx_exporter puts the MBean's domain and type before them, Micrometer and OpenTelemetry a part of it, a rule file adds
labels or writes tags into the name, KIP-714 has dots. The ends are the same in all of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

#: How the names end that may be worth parsing; a scrape is mostly about other things, and four bytes are seen fast.
_LAST_BYTES = frozenset(
    [b"lead", b"_lag", b".lag", b"-lag", b"ords", b"otal", b"tate", b"date", b"rror", b"time", b"Time", b"onds"]
)

#: Lines about a store of a task; only these two labels of them count.
_TASK = re.compile(rb'task[._-]?id"?="([^"\\]+)"', re.IGNORECASE)
_STORE = re.compile(
    rb'(?:[{,]"?)([\w.-]*)(?:state[._-]id|record[._-]cache[._-]id|store[._-]name)"?="([^"\\]+)"', re.IGNORECASE
)
_STORE_TYPE = re.compile(rb'store[._-]type"?="([^"\\]+)"', re.IGNORECASE)

_RESTORE_CONSUMER = re.compile(r"(?P<client>.+)-(?:StateUpdater|StreamThread)-\d+-restore-consumer", re.DOTALL)
_THREAD = re.compile(r"(?P<client>.+)-(?:StateUpdater|StreamThread)-\d+(?:-consumer.*)?", re.DOTALL)
_IDENTITY_IN_NAME = re.compile(
    r"_process_id_(?P<process>[0-9a-f_]{36})_application_id_(?P<application>.+)_client_state"
)

#: Labels that are Kafka's own or the export's, and do not tell one instance from another.
_IDS = {"client_id", "process_id", "application_id", "task_id", "thread_id"}
_KAFKAS_LABELS = _IDS | {"client_type", "topic", "partition", "kafka_version", "type", "name"}
_RUN_TOGETHER = {name.replace("_", ""): name for name in _IDS}


class Meaning(StrEnum):
    """What a sample tells."""

    LEAD = "position of a restore consumer, from the changelog's start on"
    LAG = "how far a restore consumer was behind when it last fetched"
    REMAINING = "records that a restoring active task still needs"
    IDENTITY = "process and application of a client id"
    UPDATES = "records applied to a standby, recorded at DEBUG only"
    SCRAPE_ERROR = "whether jmx_exporter gave up on the way"
    STARTED_MS = "when the process started"
    STARTED_S = "when the process started, in seconds"
    UPTIME_MS = "how long the process has run"
    UPTIME_S = "how long the process has run, in seconds"


#: How names end, without what stands for a counter; the first that fits counts.
_ENDS = (
    ("records_lead", Meaning.LEAD),
    ("records_lag", Meaning.LAG),
    ("restore_remaining_records", Meaning.REMAINING),
    ("client_state", Meaning.IDENTITY),
    ("task_metrics_update", Meaning.UPDATES),
    ("stream_task_update", Meaning.UPDATES),
    ("jmx_scrape_error", Meaning.SCRAPE_ERROR),
    ("java_lang_runtime_uptime", Meaning.UPTIME_MS),
    ("java_lang_runtime_starttime", Meaning.STARTED_MS),
    ("process_start_time_seconds", Meaning.STARTED_S),
    ("process_uptime_seconds", Meaning.UPTIME_S),
)


class StoreLabel(NamedTuple):
    """A store that a task has, as the labels of its metrics tell.

    ``windowed`` of a store whose records expire; ``in_memory`` of one that a restart empties (``None``: not told).
    """

    task_id: str
    store: str
    windowed: bool
    in_memory: bool | None = None


def may_count(line: bytes) -> bool:
    """Tell, without parsing it, whether a line may be about something that counts."""
    end = line.find(b"{")
    if end == 0:  # a name in quotes, which may be any
        return True
    name = line[:end] if end > 0 else line.split(None, 1)[0]
    return name[-4:] in _LAST_BYTES


@lru_cache(maxsize=1024)  # a scrape says the same few names over and over
def meaning_of(name: str) -> Meaning | None:
    """Return what a metric of this name tells; ``None`` for one that is not used."""
    plain = normal_name(name).removesuffix("_total")
    return next((meaning for end, meaning in _ENDS if plain.endswith(end)), None)


def normal_name(name: str) -> str:
    """Return a name or a topic in the form in which exports agree: lower case and underscores."""
    return re.sub(r"[^a-z0-9_]", "_", name.lower())


def normal_topic(topic: str) -> str:
    """Return a topic as it is doubled since Kafka 4.1 (KIP-1109): with underscores in place of dots."""
    return topic.replace(".", "_")


def normal_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Return labels by the names that Kafka gives them, with underscores."""
    plain = {normal_name(name): value for name, value in labels.items()}
    return {_RUN_TOGETHER.get(name, name): value for name, value in plain.items()}


def other_labels(labels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the labels that are not Kafka's: what tells several instances in one file apart."""
    return tuple(sorted((name, value) for name, value in labels.items() if name not in _KAFKAS_LABELS))


def restoring_client(client_id: str) -> str | None:
    """Return the application's client id in that of a restore consumer; ``None`` for every other client."""
    match = _RESTORE_CONSUMER.fullmatch(client_id)
    return match["client"] if match else None


def client_of_thread(thread_id: str) -> str | None:
    """Return the client id in the name of a stream thread, or of its consumer."""
    match = _THREAD.fullmatch(thread_id)
    return match["client"] if match else None


def identity_in_name(name: str) -> tuple[str, str] | None:
    """Return process and application (with underscores) where a rule file has written both into the metric's name."""
    match = _IDENTITY_IN_NAME.search(normal_name(name))
    return (match["process"].replace("_", "-"), match["application"]) if match else None


def names_a_store(line: bytes) -> bool:
    """Tell, without parsing it, whether a line may have the labels of a store."""
    return b"task" in line and (b"tate" in line or b"cache" in line or b"store" in line)


def store_label(labels: bytes) -> StoreLabel | None:
    """Return the store that labels are about, ``None`` of something else."""
    store, task = _STORE.search(labels), _TASK.search(labels)
    if store is None or task is None:
        return None
    type_match = _STORE_TYPE.search(labels)
    kind = (store[1] if type_match is None else type_match[1]).lower()
    names = (task[1].decode("utf-8", "replace"), store[2].decode("utf-8", "replace"))
    in_memory = None if not kind.startswith((b"in", b"rocksdb")) else kind.startswith(b"in")
    return StoreLabel(*names, windowed=b"window" in kind or b"session" in kind, in_memory=in_memory)
