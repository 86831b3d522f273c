"""What ``KafkaStreams.allLocalStorePartitionLags()`` says, as applications publish it on endpoints of their own.

``{host or process id: {store: {partition: {currentOffsetPosition, endOffsetPosition, offsetLag}}}}``
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.metrics.exposition import open_text, text_sources
from kstream_plan.snapshots.rows.fields import printable, shown
from kstream_plan.snapshots.rows.json_text import parse_json

#: The field of the end offset that an instance knows.
_END = "endOffsetPosition"
_FIX = 'give {"HOST": {"STORE": {"PARTITION": {"currentOffsetPosition": 1, "endOffsetPosition": 2, "offsetLag": 1}}}}'


class StoreLags(NamedTuple):
    """What one instance said of its stores: ``name`` is its host or process id, ``lags`` are by store and partition.

    ``ends`` are the end offsets that it said beside them.
    """

    place: str
    name: str
    at_ms: int | None
    lags: Mapping[tuple[str, int], int]
    ends: Mapping[tuple[str, int], int] = MappingProxyType({})


def read_store_lags(
    paths: Sequence[str], stdin: BinaryIO | None = None, now_ms: int | None = None
) -> tuple[StoreLags, ...]:
    """Read files of store lags, plain or gzip; they are of when the file was written.

    Raises:
        SnapshotError: there is no such file, or it is of another form.
    """
    lags_of_instances = []
    for source in text_sources(paths, stdin, now_ms):
        file_name = printable(source.name)
        with open_text(source) as file:
            content = file.read()
        try:
            document = parse_json(content)
        except (ValueError, RecursionError) as error:
            raise SnapshotError(f"is not JSON: {printable(str(error))}", where=file_name, fix=_FIX) from None
        try:
            for name, stores in _items(document, "the file"):
                values = {
                    (store, _partition(number)): (value, f"{name}.{store}.{number}")
                    for store, partitions in _items(stores, name)
                    for number, value in _items(partitions, f"{name}.{store}")
                }
                lags = {key: _lag(value, place) for key, (value, place) in values.items()}
                ends = {key: end for key, (value, _) in values.items() if (end := value.get(_END)) is not None}
                lags_of_instances.append(StoreLags(file_name, name, source.at_ms, lags, ends))
        except ValueError as error:
            raise SnapshotError(str(error), where=file_name, fix=_FIX) from None
    return tuple(lags_of_instances)


def _items(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, dict):
        raise ValueError(f"{printable(place)} holds {shown(value)} where an object must be")
    yield from value.items()


def _partition(number: str) -> int:
    if not (number.isascii() and number.isdigit()):
        raise ValueError(f"has {shown(number)} where a partition's number must be")
    return int(number)


def _lag(value: Any, place: str) -> int:
    if not isinstance(value, dict):
        raise ValueError(f"{printable(place)} holds {shown(value)} where an object must be")
    published_lag, end, current = (value.get(name) for name in ("offsetLag", _END, "currentOffsetPosition"))
    if end is None or (current is None and published_lag is not None):
        return _whole(published_lag, place)
    computed_lag = max(_whole(end, place) - _whole(current, place), 0)
    if published_lag is None:
        return computed_lag
    return max(computed_lag, _whole(published_lag, place))  # where they differ, the worse counts


def _whole(value: Any, place: str) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{printable(place)} gives {shown(value)} where a number of records must be")
    return value
