"""A real Kafka cluster, asked through kafka-python (the extra ``[kafka]``); nothing else imports that.

Every request only reads. The members' bytes are taken from the client's own request class: its public call decodes
them and gives texts in place of bytes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from kstream_plan.errors import ClusterError
from kstream_plan.snapshots.broker.byte_reader import PayloadError
from kstream_plan.snapshots.broker.consumer_protocol import MemberMetadata, TopicPartition
from kstream_plan.snapshots.broker.group_rows import EndOffsets
from kstream_plan.snapshots.broker.group_tasks import Topics
from kstream_plan.snapshots.broker.history import OffsetsRecord
from kstream_plan.snapshots.broker.kafka_failures import SETTINGS_OF, ConnectionWatch, cluster_error, coordinator_moves
from kstream_plan.snapshots.broker.streams_describe import read_streams_groups
from kstream_plan.snapshots.broker.streams_group import (
    STREAMS_PROTOCOL,
    DescribedGroup,
    StreamsGroupAnswer,
    is_gone,
    may_be_streams,
)
from kstream_plan.snapshots.rows.fields import printable

if TYPE_CHECKING:
    from kstream_plan.snapshots.broker.messages import Answer

_CLIENT_ID = "kstream-plan"
#: Older ones do not tell a refused login from a lost connection, and try it again and again.
_OLDEST = (3, 0, 12)
_OFFSETS_TOPIC = "__consumer_offsets"
_POLL_MS = 1_000
_POLL_RECORDS = 10_000
#: How late the client's own clock may be.
_GRACE_SECONDS = 0.5
#: A request that fails after this part of the time-out has waited for an answer.
_NEARLY = 0.9
_UNKNOWN_TOPIC = 3
_LATEST = -1
_EARLIEST = -2
#: ``ConfigResource.Type.GROUP``.
_GROUP_RESOURCE = 32
#: Between two questions while a coordinator is on its way to another broker.
_PAUSE_SECONDS = 0.2


class _HasErrorCode(Protocol):
    @property
    def error_code(self) -> int: ...


_T = TypeVar("_T", bound=_HasErrorCode)


class KafkaCluster:
    """One cluster; a context manager that closes its connections.

    Args:
        bootstrap_servers: ``HOST:PORT``, several with commas between them.
        arguments: how to connect, as ``config.client_properties.load_client_properties`` gives it.
        timeout_ms: how long the brokers may take to be found, to answer a request, or to give the next record.

    Raises:
        ClusterError: kafka-python is not installed; no broker can be reached, or it refuses the login.
    """

    def __init__(self, bootstrap_servers: str, arguments: Mapping[str, Any], timeout_ms: int = 15_000) -> None:
        self._kafka = _kafka_python()
        self._servers = bootstrap_servers
        servers = [server.strip() for server in bootstrap_servers.split(",")]
        self._timeout_ms = timeout_ms
        self._arguments = {
            "client_id": _CLIENT_ID,
            **arguments,
            "bootstrap_servers": servers,
            "bootstrap_timeout_ms": timeout_ms,
            "request_timeout_ms": min(timeout_ms, arguments.get("request_timeout_ms", timeout_ms)),
        }
        with_login = str(arguments.get("security_protocol", "")).startswith("SASL")
        self._watch = ConnectionWatch(self._kafka.errors, with_login=with_login, servers=len(servers))
        _only_handler(logging.getLogger("kafka"), self._watch)
        with self._asking("the connection"):
            self._admin = self._connected()

    def __enter__(self) -> KafkaCluster:
        return self

    def __exit__(self, *failure: object) -> None:
        self._admin.close()

    def describe_group(self, group_id: str) -> DescribedGroup:
        """Return the group as it is (``FindCoordinator``, ``DescribeGroups``).

        Raises:
            ClusterError: there is no such group; the cluster refuses or does not answer.
        """
        resource = f"group {printable(group_id)}"
        with self._asking(resource):
            request = self._kafka.DescribeGroupsRequest(groups=[group_id])
            group = self._of_coordinator(group_id, request, lambda answer: answer.groups[0])
        if group.error_code and group.error_code != self._kafka.errors.GroupIdNotFoundError.errno:
            raise self._error_of_code(group.error_code, resource)
        if group.error_code or group.group_state == "Dead":
            return self._other_group(group_id, resource)
        members = [
            MemberMetadata(
                member.member_id,
                member.group_instance_id,
                member.client_host,
                bytes(member.member_metadata),
                bytes(member.member_assignment),
            )
            for member in group.members
        ]
        return DescribedGroup(group.group_state, group.protocol_type, group.protocol_data, members)

    def describe_streams_group(self, group_id: str) -> StreamsGroupAnswer:
        """Return a group of the streams protocol as it is (``FindCoordinator``, ``StreamsGroupDescribe``).

        Raises:
            ClusterError: it is no such group (any more), the cluster cannot tell, refuses or does not answer, or what
                it answers cannot be read.
        """
        resource = f"group {printable(group_id)}"
        request = self._kafka.StreamsGroupDescribeRequest(group_ids=[group_id])
        try:
            with self._asking(resource):
                group_answer = self._of_coordinator(group_id, request, lambda answer: _streams_group(answer, group_id))
                newest = self._admin._manager.broker_version_data.api_versions[request.API_KEY][1]
        except PayloadError as error:
            problem = f"the answer to StreamsGroupDescribe cannot be read: {error.field or 'it'} {error.problem}"
            fix = "take the snapshot again; if it stays, update kstream-plan, or save what Kafka's tool says"
            raise ClusterError(problem, where=f"{resource} at {self._servers}", fix=fix) from None
        if group_answer.error_code:
            raise self._error_of_code(group_answer.error_code, resource, group_answer.group.error_message or "")
        return group_answer._replace(newest_version=newest)

    def group_settings(self, group_id: str) -> dict[str, str]:
        """Return a group's own settings that have a value, by the brokers' names (``DescribeConfigs``).

        Raises:
            ClusterError: the cluster refuses or does not answer.
        """
        resource = f"{SETTINGS_OF}group {printable(group_id)}"
        request = self._kafka.DescribeConfigsRequest(resources=[(_GROUP_RESOURCE, group_id, None)])
        with self._asking(resource):
            (result,) = self._with_timeout(self._timeout_ms, lambda: self._admin._manager.send(request)).results
        if result.error_code:
            raise self._error_of_code(result.error_code, resource, result.error_message or "")
        return {setting.name: setting.value for setting in result.configs if setting.value is not None}

    def streams_groups(self) -> list[str]:
        """Return the running groups of Kafka Streams, of either protocol (``ListGroups``, ``DescribeGroups``), sorted.

        While a classic group rebalances the broker does not tell whether it is one: such a group is among them.
        """
        with self._asking("the groups"):
            groups_by_id = {group["group_id"]: group for group in self._admin.list_groups()}
        return [group_id for group_id, group in sorted(groups_by_id.items()) if self._is_of_streams(group)]

    def topics(self, names: Sequence[str]) -> Topics:
        """Return the partitions of those topics that exist (``Metadata``)."""
        if not names:
            return {}
        with self._asking("the topics"):
            described = self._admin.describe_topics(list(names))
            # as of the connection: its describe_cluster() cannot read what brokers before 3.7 answer
            racks = {broker.node_id: broker.rack for broker in self._admin._manager.cluster.brokers()}
        racks_by_topic: dict[str, tuple[tuple[str | None, ...], ...]] = {}
        for topic in described:
            if topic["error_code"] == _UNKNOWN_TOPIC:
                continue
            if topic["error_code"]:
                raise self._error_of_code(topic["error_code"], f"topic {printable(topic['name'])}")
            partitions = sorted(topic["partitions"], key=lambda partition: int(partition["partition_index"]))
            racks_by_topic[topic["name"]] = tuple(
                tuple(racks.get(node) for node in partition["replica_nodes"]) for partition in partitions
            )
        return racks_by_topic

    def end_offsets(self, partitions: Sequence[TopicPartition], at_ms: int | None = None) -> EndOffsets:
        """Return end offsets (``ListOffsets``, read uncommitted, as ``ClientUtils.fetchEndOffsets`` of Kafka Streams).

        At a past time the end offset is that of the first record which is not older, by the records' own times; where
        there is none, the end offset now.
        """
        with self._asking("the changelogs' end offsets"):
            topic_partitions = [self._kafka.TopicPartition(*partition) for partition in partitions]
            ends = self._list_offsets(topic_partitions, _LATEST if at_ms is None else at_ms)
            partitions_past_end = [partition for partition in topic_partitions if ends[partition] < 0]
            ends |= self._list_offsets(partitions_past_end, _LATEST)
        return {(partition.topic, partition.partition): ends[partition] for partition in topic_partitions}

    def committed_offsets(self, group_id: str, partitions: Sequence[TopicPartition]) -> EndOffsets:
        """Return what a group has committed (``OffsetFetch``) of partitions; those without a commit are left out."""
        with self._asking(f"the committed offsets of group {printable(group_id)}"):
            topic_partitions = [self._kafka.TopicPartition(*partition) for partition in partitions]
            commits = self._admin.list_group_offsets({group_id: topic_partitions})[group_id]
        return {tuple(partition): commit.offset for partition, commit in commits.items() if commit.offset >= 0}

    def start_offsets(self, partitions: Sequence[TopicPartition]) -> EndOffsets:
        """Return the offsets that partitions start at (``ListOffsets``): the oldest record that is not deleted."""
        with self._asking("the changelogs' start offsets"):
            topic_partitions = [self._kafka.TopicPartition(*partition) for partition in partitions]
            starts = self._list_offsets(topic_partitions, _EARLIEST)
        return {(partition.topic, partition.partition): starts[partition] for partition in topic_partitions}

    def group_records(self, group_id: str, from_offset: int = 0) -> Iterator[OffsetsRecord]:
        """Return what the partition of ``__consumer_offsets`` holds that the group is in (``Fetch``), in order.

        ``from_offset``: only the records from there on; the partition is not read where it ends there.

        Raises:
            ClusterError: reading the topic is not allowed, or the cluster does not answer.
        """
        resource = f"topic {_OFFSETS_TOPIC}"
        partitions = self.topics([_OFFSETS_TOPIC]).get(_OFFSETS_TOPIC, ())
        if not partitions:
            return
        partition = self._kafka.TopicPartition(_OFFSETS_TOPIC, offsets_partition(group_id, len(partitions)))
        if from_offset:
            with self._asking(resource):
                if self._list_offsets([partition], _LATEST)[partition] == from_offset:
                    return
        with self._asking(resource):
            consumer = self._kafka.KafkaConsumer(
                **self._arguments,
                group_id=None,
                enable_auto_commit=False,
                max_poll_records=_POLL_RECORDS,
                allow_auto_create_topics=False,
                check_crcs=False,  # in plain Python it takes three times as long, and every payload is checked anyway
            )
        try:
            with self._asking(resource):
                consumer.assign([partition])
                end = consumer.end_offsets([partition])[partition]
                if 0 < from_offset <= end:
                    consumer.seek(partition, from_offset)
                else:  # beyond its end: the topic was made anew
                    consumer.seek_to_beginning(partition)
            silent_ms = 0
            while True:
                with self._asking(resource):
                    if consumer.position(partition) >= end:
                        return
                    wait_ms = min(_POLL_MS, self._timeout_ms)
                    records = consumer.poll(timeout_ms=wait_ms).get(partition, [])
                silent_ms = 0 if records else silent_ms + wait_ms
                if silent_ms >= self._timeout_ms:
                    raise self._silent(resource)
                for record in records:
                    if record.key is not None:
                        yield OffsetsRecord(record.timestamp, record.offset, record.key, record.value)
        finally:
            consumer.close()

    def _connected(self) -> Any:
        """Return a client that has found a broker; in a thread, as one never stops that reads what never stops."""
        client: Future[Any] = Future()

        def connect() -> None:
            try:
                client.set_result(self._kafka.KafkaAdminClient(**self._arguments))
            except Exception as error:  # raised again where the result is asked for
                client.set_exception(error)

        threading.Thread(target=connect, daemon=True).start()
        try:
            return client.result(self._timeout_ms / 1000 + _GRACE_SECONDS)
        except TimeoutError:
            if client.done():
                raise
            raise self._kafka.errors.KafkaTimeoutError("what it sends has no end") from None

    def _is_of_streams(self, group: Mapping[str, Any]) -> bool:
        group_type = _type_of(group)
        if group_type == "streams":
            return not is_gone(str(group.get("group_state")))
        is_consumer_group = group_type == "classic" and group["protocol_type"] == STREAMS_PROTOCOL[0]
        return is_consumer_group and may_be_streams(self.describe_group(group["group_id"]))

    def _of_coordinator(self, group_id: str, request: Any, read: Callable[[Any], _T]) -> _T:
        """Ask a group's coordinator; wait while it moves to another broker or is reading its groups there.

        Args:
            group_id: the group.
            request: the question.
            read: returns the needed part of an answer; it has an ``error_code``.
        """
        errors, manager = self._kafka.errors, self._admin._manager
        end = time.monotonic() + self._timeout_ms / 1000

        async def ask() -> Any:
            return await manager.send(request, node_id=await self._admin._find_coordinator_id(group_id))

        while True:
            left_ms = max(1, (end - time.monotonic()) * 1000)
            try:
                answer = read(self._with_timeout(left_ms, ask))
                error = errors.for_code(answer.error_code)
                if not issubclass(error, coordinator_moves(errors)):
                    return answer
                raise error
            except coordinator_moves(errors):
                if left_ms < _PAUSE_SECONDS * 1000:
                    raise
            manager.cluster._coordinators.clear()  # they are outdated
            time.sleep(_PAUSE_SECONDS)

    def _with_timeout(self, timeout_ms: float, ask: Callable[[], Any]) -> Any:
        """Return the answer from the client's thread; a connection that does not come up takes no longer either."""
        manager = self._admin._manager

        async def bounded() -> Any:
            return await manager.wait_for(manager.call_soon(ask), timeout_ms)

        return manager.run(bounded)

    def _other_group(self, group_id: str, resource: str) -> DescribedGroup:
        """``DescribeGroups`` does not know it: there is none, or it is of a newer protocol (``ListGroups``)."""
        with self._asking(resource):
            groups = [group for group in self._admin.list_groups() if group["group_id"] == group_id]
        group_type = _type_of(groups[0]) if groups else ""
        if group_type in ("", "classic"):
            fix = "give the application.id of the running application, and the cluster it runs on"
            raise ClusterError("does not exist on this cluster", where=resource, fix=fix)
        return DescribedGroup(str(groups[0].get("group_state")), "", "", group_type=group_type)

    def _list_offsets(self, partitions: Sequence[Any], spec: int) -> dict[Any, int]:
        if not partitions:
            return {}
        offsets = self._admin.list_partition_offsets(dict.fromkeys(partitions, spec))
        return {partition: offset.offset for partition, offset in offsets.items()}

    @contextmanager
    def _asking(self, resource: str) -> Iterator[None]:
        start_s = time.monotonic()
        try:
            yield
        except (self._kafka.errors.KafkaError, OSError, ValueError) as error:
            waited_ms = (time.monotonic() - start_s) * 1000
            wait = f"{self._timeout_ms / 1000:g} s" if waited_ms > _NEARLY * self._timeout_ms else ""
            raise cluster_error(self._kafka.errors, error, self._servers, resource, self._watch.reason, wait) from None
        except LookupError:
            problem, fix = "the answer is for another request", "check that this is a Kafka broker"
            raise ClusterError(problem, where=f"{resource} at {self._servers}", fix=fix) from None

    def _error_of_code(self, code: int, resource: str, message: str = "") -> ClusterError:
        error = self._kafka.errors.for_code(code)(message)
        return cluster_error(self._kafka.errors, error, self._servers, resource, "")

    def _silent(self, resource: str) -> ClusterError:
        problem = f"has given nothing for {self._timeout_ms / 1000:g} s (--set timeout)"
        return ClusterError(
            problem, where=f"{resource} at {self._servers}", fix="check the partition's leader, and try again"
        )


def _only_handler(logger: logging.Logger, handler: logging.Handler) -> None:
    """Keep the client's log off the terminal: a failure is shown as one error."""
    logger.handlers = [handler]
    logger.propagate = False


def _streams_group(answer: Answer, group_id: str) -> StreamsGroupAnswer:
    """Return the group that an answer is about.

    Raises:
        PayloadError: it cannot be read, or is about another.
    """
    groups = read_streams_groups(answer.body, answer.version)
    if [group.group_id for group in groups] != [group_id]:
        raise PayloadError("groups", "is not the one that was asked for")
    return StreamsGroupAnswer(groups[0], answer.version, answer.version)


def _type_of(group: Mapping[str, Any]) -> str:
    """Return the protocol of a listed group; brokers before 3.8 do not name it: there was one."""
    return str(group.get("group_type") or "classic").lower()


def offsets_partition(group_id: str, partition_count: int) -> int:
    """Return the partition of ``__consumer_offsets`` that holds a group (``GroupCoordinatorService.partitionFor``).

    It is Java's ``String.hashCode`` of the id without its sign (``Utils.abs``), modulo the number of partitions.
    """
    value = 0
    data = group_id.encode("utf-16-be", "surrogatepass")
    for index in range(0, len(data), 2):
        value = (31 * value + int.from_bytes(data[index : index + 2], "big")) & 0xFFFFFFFF
    signed = value - 2**32 if value >= 2**31 else value
    return (0 if signed == -(2**31) else abs(signed)) % partition_count


def _kafka_python() -> SimpleNamespace:
    """Return what is used of kafka-python.

    Raises:
        ClusterError: it is not installed, or too old.
    """
    try:
        import kafka as package  # noqa: PLC0415 - an extra, and it takes its time
        from kafka import errors  # noqa: PLC0415
        from kafka.protocol.admin import DescribeGroupsRequest  # noqa: PLC0415
    except ImportError:
        raise _client_error("kafka-python is not installed") from None
    version = str(package.__version__)
    if tuple(int(part) for part in version.split(".")[:3] if part.isdigit()) < _OLDEST:
        raise _client_error(f"kafka-python {version} is too old")
    from kafka.protocol.admin import DescribeConfigsRequest  # noqa: PLC0415

    from kstream_plan.snapshots.broker.messages import StreamsGroupDescribeRequest  # noqa: PLC0415

    return SimpleNamespace(
        errors=errors,
        DescribeConfigsRequest=DescribeConfigsRequest,
        DescribeGroupsRequest=DescribeGroupsRequest,
        StreamsGroupDescribeRequest=StreamsGroupDescribeRequest,
        KafkaAdminClient=package.KafkaAdminClient,
        KafkaConsumer=package.KafkaConsumer,
        TopicPartition=package.TopicPartition,
    )


def _client_error(problem: str) -> ClusterError:
    return ClusterError(f"a cluster cannot be asked: {problem}", fix="pip install 'kstream-plan[kafka]'")
