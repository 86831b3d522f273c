"""Payloads that Kafka's own classes wrote, one of each kind and version, every field filled in.

They are those of 4.3.1; ``streams_groups`` of 4.4.0, the version being part of their kind, for it is not in the bytes.

``tests/wire/payloads.jsonl.gz``: ``kind``, ``version``, ``named_topology`` (whether the tasks belong to one),
``payload`` (base64). The values are those that ``test_wire_formats.py`` expects.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from kstream_plan.snapshots.broker.consumer_protocol import (
    read_assignment,
    read_group_key,
    read_group_metadata,
    read_subscription,
)
from kstream_plan.snapshots.broker.streams_data import read_assignment_info, read_subscription_info
from kstream_plan.snapshots.broker.streams_describe import read_streams_groups

READERS: dict[str, Callable[[bytes], Any]] = {
    "subscription": read_subscription,
    "subscription_info": read_subscription_info,
    "assignment": read_assignment,
    "assignment_info": read_assignment_info,
    "group_metadata": read_group_metadata,
    "empty_group_metadata": read_group_metadata,
    "group_key": read_group_key,
    "streams_groups_0": partial(read_streams_groups, version=0),
    "streams_groups_1": partial(read_streams_groups, version=1),
    "other_streams_groups_0": partial(read_streams_groups, version=0),
    "other_streams_groups_1": partial(read_streams_groups, version=1),
}


class Payload(NamedTuple):
    kind: str
    version: int
    named_topology: bool
    data: bytes

    def read(self, data: bytes | None = None) -> Any:
        return READERS[self.kind](self.data if data is None else data)


def payloads(*kinds: str) -> list[Payload]:
    """The payloads of some kinds, all of them if none is named."""
    with gzip.open(Path(__file__).parents[1] / "wire" / "payloads.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [
        Payload(row["kind"], row["version"], row["named_topology"], base64.b64decode(row["payload"]))
        for row in rows
        if not kinds or row["kind"] in kinds
    ]


def name(payload: Payload) -> str:
    return f"{payload.kind}-{payload.version}{'-named' * payload.named_topology}"
