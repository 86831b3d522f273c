"""What things are called: hosts of processes, and the application of a generation."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from kstream_plan.model import Note
from kstream_plan.snapshots.leader_log.generations import LoggedGeneration
from kstream_plan.snapshots.leader_log.message_values import Hosts
from kstream_plan.snapshots.leader_log.records import Record
from kstream_plan.snapshots.rows.fields import printable

_CONSUMER = re.compile(r"(?P<client>.+)-StreamThread-\d+-consumer-[0-9a-fA-F-]{36}")
#: A stream thread of an application without ``client.id``, and its consumer.
_THREAD = re.compile(r"(?P<application>.+)-[0-9a-f]{8}-[0-9a-f-]{27}-StreamThread-\d+(?:-consumer)?")
_LOG_ENDINGS = re.compile(r"(?:\.(?:gz|log|txt|jsonl?|out|\d+))+\Z")


def application_of(generation: LoggedGeneration) -> str | None:
    """Return the application id: the group's, else what stands before the process id in Kafka's own client ids.

    ``StreamThread`` and ``KafkaStreams`` of Kafka 3.2 to 4.3: without ``client.id`` it is ``<application>-<process>``.
    """
    if generation.group is not None:
        return generation.group
    for process_id, consumers in generation.consumers.items():
        for consumer in consumers:
            client = client_of(consumer)
            if client and client.endswith(f"-{process_id}"):
                return client.removesuffix(f"-{process_id}")
    return None


def application_of_thread(name: str | None) -> str | None:
    """Return the application of a stream thread, or of its consumer, by Kafka's own names; ``None``: not known."""
    match = _THREAD.fullmatch(name or "")
    return match["application"] if match else None


def hosts_of(generations: Sequence[LoggedGeneration], records: Iterable[Record]) -> dict[str, str]:
    """Return hosts by process id, from the best source there is for each.

    In this order: the prefix or the field of the lines that the process itself logged; ``application.server``; a
    ``client.id`` of its own; the name of the file, if there are several and each is of one process.
    """
    server_hosts: dict[str, str] = {}
    prefixes: dict[str, set[str]] = defaultdict(set)
    files: dict[str, set[str]] = defaultdict(set)
    for record in records:
        if isinstance(record.message, Hosts):
            server_hosts.update(record.message.hosts)
        if record.thread and record.host:
            prefixes[record.thread].add(record.host)
        if record.thread:
            files[record.thread].add(_LOG_ENDINGS.sub("", Path(record.place.file).name))
    consumers: dict[str, set[str]] = defaultdict(set)
    for generation in generations:
        for process_id, names in generation.consumers.items():
            consumers[process_id].update(names)
    threads = {process_id: _threads(process_id, names, files) for process_id, names in consumers.items()}
    own_clients = {process_id: _own_client(process_id, names) for process_id, names in consumers.items()}
    hosts: dict[str, str] = {}
    for source in (_by_thread(threads, prefixes), server_hosts, own_clients, _by_file(threads, files)):
        for process_id, host in source.items():
            if process_id in consumers and host:
                hosts.setdefault(process_id, host)
    return hosts


def client_of(consumer: str) -> str | None:
    """Return the client id in a consumer's id, ``None`` for a static member, whose id has none."""
    match = _CONSUMER.fullmatch(consumer)
    return match["client"] if match else None


def _own_client(process_id: str, consumers: Iterable[str]) -> str:
    clients = {client_of(consumer) for consumer in consumers}
    (client,) = clients if len(clients) == 1 else (None,)
    return client if client and process_id not in client else ""


def _threads(process_id: str, consumers: Iterable[str], thread_names: Iterable[str]) -> list[str]:
    own_threads = {consumer.rpartition("-consumer-")[0] for consumer in consumers}
    return sorted(thread for thread in thread_names if thread in own_threads or process_id in thread)


def _by_thread(threads: Mapping[str, Sequence[str]], names: Mapping[str, set[str]]) -> dict[str, str]:
    """Return the only name that the threads of each process go by; none if they go by several."""
    names_by_process = {}
    for process_id, own_threads in threads.items():
        of_process = {name for thread in own_threads for name in names.get(thread, ())}
        if len(of_process) == 1:
            (names_by_process[process_id],) = of_process
    return names_by_process


def _by_file(threads: Mapping[str, Sequence[str]], files: Mapping[str, set[str]]) -> dict[str, str]:
    """Name processes after the files that hold only their lines, if there are several files."""
    if len({file for names in files.values() for file in names}) < 2:
        return {}
    files_by_process = _by_thread(threads, files)
    uses = Counter(
        file for own_threads in threads.values() for file in {file for thread in own_threads for file in files[thread]}
    )
    return {process_id: file for process_id, file in files_by_process.items() if uses[file] == 1}


def notes_on_unused_names(names: Sequence[str]) -> list[Note]:
    """Return the warning that no instance has these names, which were given for instances; nothing for none."""
    if not names:
        return []
    message = f"no instance has a name that --set names gives, {printable(names[0])} first: ids change at a restart"
    return [Note("unused-names", message, tuple(names))]
