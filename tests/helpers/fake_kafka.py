"""A stand-in for what is used of kafka-python: errors by their names and codes, and answers that a test writes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple


class KafkaError(Exception):
    errno = 0


class RetriableError(KafkaError):
    pass


class AuthorizationError(KafkaError):
    pass


def _error(name: str, base: type[KafkaError] = KafkaError, errno: int = 0) -> type[KafkaError]:
    return type(name, (base,), {"errno": errno})


_ALL = [
    _error("NoError"),
    _error("KafkaConfigurationError"),
    _error("SaslAuthenticationFailedError", errno=58),
    _error("UnsupportedSaslMechanismError", errno=33),
    _error("IllegalSaslStateError", errno=34),
    _error("GroupIdNotFoundError", errno=69),
    _error("KafkaTimeoutError", RetriableError),
    _error("KafkaConnectionError", RetriableError),
    _error("CoordinatorLoadInProgressError", RetriableError, 14),
    _error("CoordinatorNotAvailableError", RetriableError, 15),
    _error("NotCoordinatorError", RetriableError, 16),
    _error("UnsupportedVersionError", errno=35),
    _error("TopicAuthorizationFailedError", AuthorizationError, 29),
    _error("GroupAuthorizationFailedError", AuthorizationError, 30),
    _error("ClusterAuthorizationFailedError", AuthorizationError, 31),
    _error("UnsupportedCodecError"),
    _error("UnknownServerError", errno=-1),
]

errors = SimpleNamespace(
    KafkaError=KafkaError,
    RetriableError=RetriableError,
    AuthorizationError=AuthorizationError,
    for_code=lambda code: next(error for error in _ALL if error.errno == code),
    **{error.__name__: error for error in _ALL},
)


class TopicPartition(NamedTuple):
    topic: str
    partition: int


class Answers:
    """What the cluster answers; a test sets what it needs.

    ``group`` is the described group, ``listed`` the groups that are listed, ``described`` the topics, ``racks`` the
    rack of each broker, ``latest`` and ``at_time`` end offsets, ``committed`` the group's,
    ``records`` what the offsets topic's partitions hold;
    ``failing`` is raised by whatever is asked that begins with ``failing_at``.
    """

    def __init__(self) -> None:
        self.group: Any = None
        self.listed: list[dict[str, Any]] = []
        self.described: list[dict[str, Any]] = []
        self.racks: dict[int, str | None] = {}
        self.latest: dict[TopicPartition, int] = {}
        self.at_time: dict[TopicPartition, int] = {}
        self.committed: dict[TopicPartition, int] = {}
        self.records: dict[int, list[SimpleNamespace]] = {}
        self.failing: Exception | None = None
        self.failing_at = ""
        self.asked: list[str] = []
        self.closed = 0

    def __call__(self) -> SimpleNamespace:
        """What ``kafka_cluster._kafka_python`` gives."""
        return SimpleNamespace(
            errors=errors,
            DescribeGroupsRequest=lambda groups: groups,
            StreamsGroupDescribeRequest=None,
            DescribeConfigsRequest=None,
            KafkaAdminClient=lambda **arguments: _Admin(self, arguments),
            KafkaConsumer=lambda **arguments: _Consumer(self, arguments),
            TopicPartition=TopicPartition,
        )

    def ask(self, what: str) -> None:
        self.asked.append(what)
        if self.failing is not None and what.startswith(self.failing_at):
            raise self.failing


class _Admin:
    def __init__(self, answers: Answers, arguments: dict[str, Any]) -> None:
        answers.ask("connect")
        self._answers = answers
        self._manager = self
        self.cluster = SimpleNamespace(_coordinators={}, brokers=self._brokers)
        self.arguments = arguments

    def run(self, ask: Any, *arguments: Any) -> Any:
        return asyncio.run(ask(*arguments))

    def call_soon(self, ask: Any) -> Any:
        return ask()

    async def wait_for(self, future: Any, timeout_ms: float) -> Any:
        return await future

    async def send(self, request: Any, node_id: int) -> Any:
        self._answers.ask(f"DescribeGroups {request} of {node_id}")
        return SimpleNamespace(groups=[self._answers.group])

    async def _find_coordinator_id(self, group_id: str) -> int:
        self._answers.ask(f"FindCoordinator {group_id}")
        return 7

    def list_groups(self) -> list[dict[str, Any]]:
        self._answers.ask("ListGroups")
        return self._answers.listed

    def _brokers(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(node_id=node, rack=rack) for node, rack in self._answers.racks.items()]

    def describe_topics(self, names: Sequence[str]) -> list[dict[str, Any]]:
        self._answers.ask(f"Metadata {' '.join(names)}")
        return [topic for topic in self._answers.described if topic["name"] in names]

    def list_partition_offsets(self, specs: dict[TopicPartition, int]) -> dict[TopicPartition, SimpleNamespace]:
        self._answers.ask(f"ListOffsets {sorted(set(specs.values()))}")
        return {
            partition: SimpleNamespace(
                offset=(self._answers.latest if spec == -1 else self._answers.at_time)[partition]
            )
            for partition, spec in specs.items()
        }

    def list_group_offsets(
        self, specs: dict[str, list[TopicPartition]]
    ) -> dict[str, dict[TopicPartition, SimpleNamespace]]:
        self._answers.ask(f"OffsetFetch {sorted(specs)}")
        return {
            group: {
                partition: SimpleNamespace(offset=self._answers.committed.get(partition, -1)) for partition in asked
            }
            for group, asked in specs.items()
        }

    def close(self) -> None:
        self._answers.closed += 1


class _Consumer:
    def __init__(self, answers: Answers, arguments: dict[str, Any]) -> None:
        assert arguments["group_id"] is None
        assert arguments["enable_auto_commit"] is False
        assert arguments["allow_auto_create_topics"] is False
        self._answers = answers
        self._position = 0

    def assign(self, partitions: Sequence[TopicPartition]) -> None:
        (self._partition,) = partitions
        self._answers.ask(f"Fetch {self._partition.topic} {self._partition.partition}")

    def seek_to_beginning(self, partition: TopicPartition) -> None:
        self._position = 0

    def end_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return {partition: len(self._answers.records.get(partition.partition, [])) for partition in partitions}

    def position(self, partition: TopicPartition) -> int:
        return self._position

    def poll(self, timeout_ms: int) -> dict[TopicPartition, list[SimpleNamespace]]:
        """Two records at a time."""
        records = self._answers.records[self._partition.partition][self._position : self._position + 2]
        self._position += len(records)
        return {self._partition: records}

    def close(self) -> None:
        self._answers.closed += 1
