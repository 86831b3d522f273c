"""Workers of Kafka Connect of a release, on this machine's loopback, for as long as a test needs them."""

from __future__ import annotations

import http.client
import json
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.connect_log.history import ConnectEntry, read_connect_logs
from tests.helpers.kafka_jars import class_path
from tests.helpers.real_cluster import LOG_WITH_DATES, Broker, ended, free_port, started, until

_KAFKA = Path(__file__).parents[1] / "kafka"
_SOURCES = [_KAFKA / "java" / name for name in ("Watched.java", "Idle.java")]
_SERVICES = "META-INF/services/org.apache.kafka.connect.source.SourceConnector"


class Workers:
    """The workers of one group; they end with the block.

    Args:
        broker: where they run.
        folder: settings and logs.
        group_id: the group, whose topics begin with it.
        settings: of every worker, by Kafka's names.
    """

    def __init__(
        self, broker: Broker, folder: Path, group_id: str, settings: Mapping[str, object], kafka_version: str
    ) -> None:
        self._broker = broker
        self._folder = folder
        self._group_id = group_id
        self._settings = settings
        services = folder / "services" / _SERVICES
        services.parent.mkdir(parents=True)
        services.write_text("Idle\n", encoding="utf-8")
        jars = class_path(_SOURCES, kafka_version, _KAFKA / "connect-pom.xml")
        self._class_path = f"{folder / 'services'}:{jars}"
        self._ports: dict[str, int] = {}
        self._running = ExitStack()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *failure: object) -> None:
        self._running.close()

    @property
    def logs(self) -> list[str]:
        """The log of each process that was started."""
        return [str(path) for path in sorted(self._folder.glob("*.log"))]

    def host(self, worker: str) -> str:
        """Where a worker's REST interface is."""
        return f"127.0.0.1:{self._ports[worker]}"

    def start(self, worker: str, own: Mapping[str, object] = MappingProxyType({})) -> None:
        """Start a worker, with settings of its own; one that has run before is back where it was."""
        port = self._ports.setdefault(worker, free_port())
        topics = {
            f"{name}.storage.{setting}": value
            for name in ("config", "offset", "status")
            for setting, value in (("topic", f"{self._group_id}-{name}"), ("replication.factor", 1), ("partitions", 1))
            if (name, setting) != ("config", "partitions")
        }
        json_form = "org.apache.kafka.connect.json.JsonConverter"
        settings = {
            "bootstrap.servers": self._broker.address,
            "group.id": self._group_id,
            **topics,
            "key.converter": json_form,
            "value.converter": json_form,
            "listeners": f"http://127.0.0.1:{port}",
            "plugin.discovery": "service_load",
            **self._settings,
            **own,
        }
        path = self._folder / f"{worker}.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), encoding="utf-8")
        log = self._folder / f"{worker}-{len(self.logs)}.log"
        command = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *LOG_WITH_DATES, "-cp", self._class_path]
        main = ["Watched", "org.apache.kafka.connect.cli.ConnectDistributed", str(path)]
        process = self._running.enter_context(started(log, *command, *main))
        self._processes[worker] = process
        until(lambda: self._serves(worker) or ended(process, log), f"{worker} to answer", poll_seconds=0.3)

    def stop(self, worker: str) -> None:
        """Let a worker end, as SIGTERM does."""
        stdin = self._processes[worker].stdin
        assert stdin is not None
        stdin.close()
        self._processes[worker].wait()

    def kill(self, worker: str) -> None:
        """End a worker at once, as ``kill -9`` does."""
        self._processes[worker].kill()
        self._processes[worker].wait()

    def create(self, connector: str, tasks: int, by: str) -> None:
        """Let a worker create a connector with so many tasks."""
        config = {"connector.class": "Idle", "tasks.max": str(tasks), "topic": "none"}
        until(lambda: self._asked(by, "PUT", f"/connectors/{connector}/config", config) in (200, 201), connector)

    def generation(self, number: int, *, is_over: bool = True) -> ConnectEntry:
        """Wait for a generation that all its workers have logged, and after which nobody waits or joins at once."""

        def found() -> ConnectEntry | None:
            try:
                last = read_connect_logs(self.logs)[-1]
            except SnapshotError:  # nobody has joined yet, or a line is not whole
                return None
            over = not last.delay_ms and not last.unassigned_count and last.problem is None
            return last if last.generation >= number and (over or not is_over) else None

        return until(found, f"generation {number}", poll_seconds=0.3)

    def _serves(self, worker: str) -> bool:
        return self._asked(worker, "GET", "/connectors", None) == 200

    def _asked(self, worker: str, method: str, path: str, body: object) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self._ports[worker], timeout=10)
        try:
            headers = {"Content-Type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            return connection.getresponse().status
        except OSError:
            return 0
        finally:
            connection.close()
