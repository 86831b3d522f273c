"""A broker and an application of a Kafka release, on this machine's loopback, for as long as a test needs them."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

from kstream_plan.errors import KstreamPlanError
from kstream_plan.snapshots.broker.history import GroupDecision
from kstream_plan.snapshots.broker.kafka_cluster import KafkaCluster
from kstream_plan.snapshots.broker.source import group_decisions
from tests.helpers.kafka_jars import class_path

_SOURCES = [Path(__file__).parents[1] / "kafka" / "java" / name for name in ("Watched.java", "Orders.java")]
_END_SECONDS = 35
#: For what takes seconds on a machine that has nothing else to do.
_MOST_SECONDS = 180
_POLL_SECONDS = 1.0
#: Lines with a date, as users have them.
LOG_WITH_DATES = (
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSS'Z'",
    "-Duser.timezone=UTC",
)

#: What jmx_exporter publishes: every attribute, of the MBeans that are asked about.
_EXPORTED = """\
lowercaseOutputName: true
includeObjectNames: ["kafka.consumer:*", "kafka.streams:*", "java.lang:type=Runtime"]
rules: [{pattern: ".*"}]
"""

_T = TypeVar("_T")


class Broker(NamedTuple):
    """One KRaft broker that is its own controller; use :func:`shared_broker` or :func:`started_broker`."""

    address: str
    class_path: str
    release: str

    def answers(self) -> bool:
        try:
            KafkaCluster(self.address, {}).__exit__()
        except KstreamPlanError:
            return False
        return True

    def create_topics(self, partitions: Mapping[str, int]) -> None:
        from kafka import KafkaAdminClient

        admin = KafkaAdminClient(bootstrap_servers=self.address)
        options = {name: {"num_partitions": count, "replication_factor": 1} for name, count in partitions.items()}
        admin.create_topics(options)
        admin.close()

    def set_group_setting(self, group_id: str, name: str, value: str) -> None:
        """Set one of a group's own settings, whether there is the group yet or not."""
        from kafka import KafkaAdminClient
        from kafka.admin import ConfigResource

        admin = KafkaAdminClient(bootstrap_servers=self.address)
        admin.alter_configs([ConfigResource("group", group_id, {name: value})])
        admin.close()

    def produce(self, topic: str, partitions: int, keys: int) -> None:
        """Write one record for each key, and as many keys to each partition.

        Raises:
            KafkaError: a record was not written.
        """
        from kafka import KafkaProducer

        # before 3.0 brokers without ZooKeeper give out no producer ids
        producer = KafkaProducer(bootstrap_servers=self.address, enable_idempotence=False)
        written = [
            producer.send(topic, b"v", key=f"k{partition}-{key}".encode(), partition=partition)
            for partition in range(partitions)
            for key in range(keys)
        ]
        for future in written:
            future.get(60)
        producer.close()


@contextmanager
def started_broker(folder: Path, kafka_version: str) -> Iterator[Broker]:
    """Give a broker that answers; it ends with the block."""
    broker = Broker(f"127.0.0.1:{free_port()}", class_path(_SOURCES, kafka_version), kafka_version)
    settings = folder / "server.properties"
    settings.write_text("".join(f"{name}={value}\n" for name, value in _settings(broker.address, folder).items()))
    _format(broker, settings)
    command = ["-Xmx512m", "-XX:+UseSerialGC", *LOG_WITH_DATES, "-cp", broker.class_path, "Watched", "kafka.Kafka"]
    with started(folder / "broker.log", *command, str(settings)) as process:
        until(lambda: broker.answers() or ended(process, folder / "broker.log"), "the broker to answer")
        yield broker


def _settings(address: str, folder: Path) -> Mapping[str, object]:
    controller = f"127.0.0.1:{free_port()}"
    client_listener = f"PLAINTEXT://{address}"
    return {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@{controller}",
        "listeners": f"{client_listener},CONTROLLER://{controller}",
        "advertised.listeners": client_listener,
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": folder / "data",
        "offsets.topic.num.partitions": 4,
        "offsets.topic.replication.factor": 1,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "share.coordinator.state.topic.replication.factor": 1,
        "share.coordinator.state.topic.min.isr": 1,
        "auto.create.topics.enable": "false",
        # long enough for several instances that start at the same time to be in the first generation
        "group.initial.rebalance.delay.ms": 12_000,
        "group.min.session.timeout.ms": 1000,
    }


def _format(broker: Broker, settings: Path) -> None:
    cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    # one word: an id may begin with a hyphen, and would be taken for an option
    options = [f"--cluster-id={cluster_id}", "-c", str(settings)]
    storage_tool = ["kafka.tools.StorageTool", "format", *options]
    command = ["java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", broker.class_path, *storage_tool]
    subprocess.run(command, check=True, capture_output=True, timeout=_MOST_SECONDS)


@contextmanager
def shared_broker(folder: Path, kafka_version: str) -> Iterator[Broker]:
    """Give the one broker of a test run: whichever process comes first starts it, and ends it after all the others.

    Args:
        folder: the same one for every process.
        kafka_version: of the broker.
    """
    folder.mkdir(exist_ok=True)
    answer = folder / "broker.json"
    with (folder / "users").open("w") as users, ExitStack() as own:
        with _one_at_a_time(folder):
            fcntl.flock(users, fcntl.LOCK_SH)
            if told_here := not answer.exists():
                broker = own.enter_context(started_broker(Path(tempfile.mkdtemp(dir=folder)), kafka_version))
                answer.write_text(json.dumps(broker))
            else:
                broker = Broker(*json.loads(answer.read_text()))
        yield broker
        if told_here:
            with _one_at_a_time(folder):  # who comes now starts another one
                fcntl.flock(users, fcntl.LOCK_EX)  # everybody else has done
                answer.unlink()
                own.close()


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Application:
    """Instances of the small application, whose topics begin with its id; they end with the block.

    Args:
        broker: where it runs.
        folder: state, logs and the topology's text.
        settings: of Kafka Streams, by Kafka's names.
        of_instance: more of them, by instance.
        with_metrics: whether the instances have an endpoint for Prometheus each.
    """

    def __init__(
        self,
        broker: Broker,
        folder: Path,
        application_id: str,
        settings: Mapping[str, object],
        of_instance: Mapping[str, Mapping[str, object]] | None = None,
        *,
        with_metrics: bool = False,
    ) -> None:
        self.application_id = application_id
        #: Where each instance's metrics are.
        self.metrics_urls: dict[str, str] = {}
        self._of_instance = of_instance or {}
        self._with_metrics = with_metrics
        self.topology = folder / "topology.txt"
        self._broker = broker
        self._folder = folder
        self._settings = settings
        self._running = ExitStack()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Application:
        return self

    def __exit__(self, *failure: object) -> None:
        self._running.close()

    def create_topics(self, *, orders: int, audit: int) -> None:
        """Create the application's topics with so many partitions."""
        partitions = {"orders": orders, "audit": audit, "audit-out": audit}
        self._broker.create_topics({f"{self.application_id}-{name}": count for name, count in partitions.items()})

    @property
    def logs(self) -> list[Path]:
        """The log of each instance that was started."""
        return sorted(self._folder.glob("*.log"))

    def start(self, instance: str, process_id: str) -> None:
        """Start an instance under a process id of our choice, which Kafka Streams takes from its state directory.

        One that has run before is back with its disk, and goes on with its log.
        """
        state = self._folder / instance / self.application_id
        if not state.exists():
            state.mkdir(parents=True)
            (state / "kafka-streams-process-metadata").write_text(json.dumps({"processId": process_id}))
        settings = {
            "application.id": self.application_id,
            "bootstrap.servers": self._broker.address,
            "state.dir": state.parent,
            **self._settings,
            **self._of_instance.get(instance, {}),
        }
        arguments = [str(self.topology), *(f"{name}={value}" for name, value in settings.items())]
        command = [
            "-Xmx192m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            *LOG_WITH_DATES,
            *(self._exporter(instance) if self._with_metrics else ()),
            "-cp",
            self._broker.class_path,
        ]
        log = self._folder / f"{instance}.log"
        process = self._running.enter_context(started(log, *command, "Watched", "Orders", *arguments))
        self._processes[instance] = process

    def _exporter(self, instance: str) -> list[str]:
        rules = self._folder / "exporter.yaml"
        rules.write_text(_EXPORTED)
        (agent,) = Path(self._broker.class_path.rpartition(os.pathsep)[2]).parent.glob("jmx_prometheus_javaagent-*.jar")
        port = free_port()
        self.metrics_urls[instance] = f"http://127.0.0.1:{port}/metrics"
        return [f"-javaagent:{agent}=127.0.0.1:{port}:{rules}"]

    def stop(self, instance: str) -> None:
        """Close an instance as its settings say, and wait until it has ended."""
        process = self._processes[instance]
        assert process.stdin is not None
        process.stdin.close()
        process.wait(_END_SECONDS)

    def lose_stores(self, instance: str) -> None:
        """Take an instance's disk while it is away, as if its stores were in memory."""
        shutil.rmtree(self._folder / instance)

    def kill(self, instance: str) -> None:
        """End an instance at once, as ``kill -9`` does."""
        self._processes[instance].kill()
        self._processes[instance].wait()

    def settled(self, instances: int, seconds: float = _MOST_SECONDS) -> GroupDecision:
        """Wait until a decision about so many instances has left nothing to do, and return it."""

        def last() -> GroupDecision | None:
            with KafkaCluster(self._broker.address, {}) as cluster:
                try:
                    decision = group_decisions(cluster, self.application_id, lambda _: True)[-1]
                except KstreamPlanError:  # nobody has joined yet
                    return None
            done = decision.processes == instances and not decision.has_probe and not decision.withheld_tasks
            return decision if done else None

        return until(last, f"{instances} instances to settle", seconds)


@contextmanager
def started(log: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a Java program that ends when its input does; what it says is added to the log."""
    with log.open("ab") as out:
        process = subprocess.Popen(["java", *arguments], stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def ended(process: subprocess.Popen[bytes], log: Path) -> bool:
    """Return false while a process runs.

    Raises:
        RuntimeError: it has ended.
    """
    if process.poll() is not None:
        raise RuntimeError(f"ended with code {process.returncode}:\n{log.read_text(errors='replace')[-4000:]}")
    return False


def until(
    found: Callable[[], _T | None], what: str, seconds: float = _MOST_SECONDS, poll_seconds: float = _POLL_SECONDS
) -> _T:
    """Return what is found, as soon as it is.

    Raises:
        TimeoutError: it is not found in time.
    """
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if result := found():
            return result
        time.sleep(poll_seconds)
    raise TimeoutError(f"waited {seconds:.0f} s in vain for {what}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
