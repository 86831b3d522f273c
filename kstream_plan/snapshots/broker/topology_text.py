"""The text of ``Topology.describe()``: which subtopology reads what and keeps which stores.

Format: ``InternalTopologyBuilder.TopologyDescription.toString`` of Apache Kafka, the same from 1.1 to 4.3. Internal
topics stand there without the application's name, which Kafka Streams puts before them when it runs
(``InternalTopologyBuilder.decorateTopic``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from kstream_plan.errors import SnapshotError
from kstream_plan.model import Note
from kstream_plan.model.note import name_list
from kstream_plan.snapshots.files.content import uncoloured, unescaped
from kstream_plan.snapshots.leader_log.log_fields import TEXT_FIELDS, fields_of
from kstream_plan.snapshots.rows.fields import shown

_START = re.compile(r"(?P<before>(?:.*[\s\"'])?)(?:Topologies|Sub-topologies|Topology: (?P<name>.+)):\s*")
#: A line of these that cannot be read is missing in the topology; any other line is text behind it.
_OF_A_TOPOLOGY = re.compile(r"\s*(?:Sub-topology:|Source:|Processor:|Sink:|-->|<--).*")
_SUBTOPOLOGY = re.compile(
    r"\s*Sub-topology: (?P<id>\d{1,9})(?P<is_global> for global store \(will not generate tasks\))?\s*"
)
_SOURCE = re.compile(r"\s*Source:\s+(?P<name>.+) \(topics: (?P<topics>.*)\)\s*")
_PROCESSOR = re.compile(r"\s*Processor: (?P<name>.+) \(stores: \[(?P<stores>.*)\]\)\s*")
_SINK = re.compile(r"\s*Sink: (?P<name>.+) \((?:topic: (?P<topic>.*)|extractor class: .*)\)\s*")
#: How Kafka Streams names sinks and topics that the same application reads again.
_REPARTITION_SINK, _REPARTITION_TOPIC = "-repartition-sink", re.compile(r"KSTREAM-.+-repartition")
_NEIGHBOURS = re.compile(r"\s*(?P<arrow>-->|<--) (?P<names>.*?)\s*")
#: How Kafka Streams names the processor of a table that reads a topic, and the source of one that has another name.
_TABLE_PROCESSOR, _TABLE_SOURCE = "KTABLE-SOURCE-", "-source"
#: A list of topics; anything else there is the pattern of a source that reads by pattern.
_TOPICS = re.compile(r"\[[a-zA-Z0-9._-]+(?:, [a-zA-Z0-9._-]+)*\]")

_OBJECT, _PRINT = re.compile(r"\bTopology@[0-9a-f]+\b"), "print topology.describe() instead of the topology"
_FIX = "write the whole text of Topology.describe() to the file, as it is"

#: What editors make of ``-->`` and ``<--``.
_ARROW_ON = re.compile("(?:\u2192|\u27f6|[\u2013\u2014]>)(?= )")
_ARROW_BACK = re.compile("(?:\u2190|\u27f5|<[\u2013\u2014])(?= )")
_SPACES = re.compile("[\xa0\u2000-\u200a\u202f\u205f\u3000]")
_PAGE = re.compile(r"<(?:pre|br|code|span|div|p|td)\b", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>\n]{0,300}>")
#: A line's number, or the sign of a line that was added.
_NUMBERED = re.compile(
    r"^(?:[ \t]{0,8}\d{1,6}(?:[:\t]| {1,2})|\+)"
    r"(?=[ \t]*(?:Topologies:|Sub-topolog|Source:|Processor:|Sink:|-->|<--|\r?$))",
    re.MULTILINE,
)


class SubtopologyKey(NamedTuple):
    """A subtopology's number, and the name of the named topology it belongs to, if any."""

    topology_name: str | None
    number: int


@dataclass(frozen=True, slots=True)
class Subtopology:
    """What one subtopology reads and keeps, names as in the text and sorted.

    ``by_pattern`` says that it also reads what matches a pattern, which the text does not resolve. ``table_topics`` has
    the stores of tables that read a topic, and that topic: it is their changelog under ``topology.optimization=all``.
    """

    source_topics: tuple[str, ...]
    stores: tuple[str, ...]
    by_pattern: bool = False
    table_topics: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Topology:
    """The subtopologies that have tasks, and the file that describes them.

    ``left_out`` are nodes that others lead to and the text does not have.
    """

    file: str
    subtopologies: Mapping[SubtopologyKey, Subtopology]
    left_out: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is not certain of it."""
        if not self.left_out:
            return ()
        message = (
            f"the topology's text lacks {name_list(self.left_out, 1)}, to which it leads: if a store is kept there "
            "or behind it, tasks look stateless that are not, or smaller than they are. Give the whole text"
        )
        return (Note("topology-abridged", message, self.left_out),)


def topic_in_cluster(topic: str, application_id: str, subscribed: Collection[str]) -> str:
    """Return the name that a source topic of the text has in the cluster.

    An internal topic has the application's name before it; it is one if the members read only the topic of that name.
    """
    internal = f"{application_id}-{topic}"
    return internal if topic not in subscribed and internal in subscribed else topic


def changelog_topic(application_id: str, topology_name: str | None, store: str) -> str:
    """Return the topic that a store is written to (``ProcessorStateManager.storeChangelogTopic``)."""
    parts = (application_id, topology_name, store, "changelog")
    return "-".join(part for part in parts if part is not None)


def reuses_sources(config: Mapping[str, Any]) -> bool:
    """Tell whether tables are restored from the topics that they read, by the settings of a snapshot's ``config``."""
    optimizations = str(config.get("topology_optimization", "")).lower().replace(" ", "").split(",")
    return bool({"all", "reuse.ktable.source.topics"}.intersection(optimizations))


def changelogs_assumed(topics: Collection[str]) -> tuple[Note, ...]:
    """Warn of tables of these topics that have changelogs, which may be left over from before topics were reused."""
    if not topics:
        return ()
    message = (
        f"tables of {name_list(sorted(topics), 1)} have a changelog of their own, which is taken to be in use. If the "
        "application has topology.optimization=all, it is left over, and the topic itself counts: say so with "
        "--streams-config"
    )
    return (Note("changelog-assumed", message, tuple(sorted(topics))),)


@dataclass(slots=True)
class _Draft:
    topics: set[str] = field(default_factory=set)
    stores: set[str] = field(default_factory=set)
    by_pattern: bool = False
    awaited: tuple[str, ...] = ("node",)
    nodes: set[str] = field(default_factory=set)
    successors: set[str] = field(default_factory=set)
    ends_in_source: bool = False
    repartitions: set[str] = field(default_factory=set)
    sources: dict[str, list[str]] = field(default_factory=dict)
    processors: list[tuple[str, list[str], list[str]]] = field(default_factory=list)

    @property
    def missing_nodes(self) -> set[str]:
        """The nodes that others lead to and the text does not have."""
        names_are_plain = not any(", " in name for name in self.nodes)
        return self.successors - self.nodes if names_are_plain else set()

    @property
    def is_cut(self) -> bool:
        """Whether its last node does not say what it stands between, or is a source that leads to another."""
        return bool(self.awaited) or (self.ends_in_source and bool(self.missing_nodes))

    def table_topics(self) -> tuple[tuple[str, str], ...]:
        """Return the store of each table that reads a topic, and the topic."""
        tables = set()
        for name, stores, predecessors in self.processors:
            for source in predecessors:
                topics = self.sources.get(source, [])
                is_table = name.startswith(_TABLE_PROCESSOR) or source == f"{name}{_TABLE_SOURCE}"
                if is_table and len(stores) == len(topics) == 1:
                    tables.add((stores[0], topics[0]))
        return tuple(sorted(tables))


def read_topology(text: str, where: str) -> Topology:
    """Read the text of ``Topology.describe()``; text around it is passed over, and what stands before each line.

    So it is read where it was logged, as a container's output, as a text in JSON, or in ksqlDB's ``EXPLAIN``.

    Args:
        text: the text.
        where: the file it is from.

    Raises:
        SnapshotError: it is no such text, or a line of it cannot be read.
    """
    topologies: list[tuple[int, dict[SubtopologyKey, _Draft]]] = [(1, {})]
    topology_name: str | None = None
    draft: _Draft | None = None
    in_topology, prefix = False, ""
    for number, whole_line in enumerate(saved_lines(text), start=1):
        line = whole_line.removeprefix(prefix)
        drafts = topologies[-1][1]
        if (match := _START.fullmatch(whole_line)) is not None:
            in_topology, prefix, draft, topology_name = True, match["before"], None, match["name"]
            if any(topology_name in (None, key.topology_name) for key in drafts):
                topologies.append((number, {}))
        elif not in_topology:
            if drafts and _OF_A_TOPOLOGY.fullmatch(line):
                raise _error(where, number, f"is {shown(line.strip())}, and the topology has ended before")
        elif (match := _SUBTOPOLOGY.fullmatch(line)) is not None:
            key = SubtopologyKey(topology_name, int(match["id"]))
            draft = _Draft()
            if not match["is_global"] and drafts.setdefault(key, draft) is not draft:
                raise _error(where, number, f"names sub-topology {key.number} again")
        elif line.strip() and (draft is None or not _add_node(draft, line)):
            if _OF_A_TOPOLOGY.fullmatch(line):
                raise _error(where, number, f"is {shown(line.strip())}, which is no line of Topology.describe()")
            in_topology = False
    subtopologies = _only_topology(topologies, where, is_object=_OBJECT.search(text) is not None)
    left_out = sorted({name for _, drafts in topologies for draft in drafts.values() for name in draft.missing_nodes})
    return Topology(where, MappingProxyType(subtopologies), tuple(left_out))


def _only_topology(
    topologies: list[tuple[int, dict[SubtopologyKey, _Draft]]], file: str, *, is_object: bool
) -> dict[SubtopologyKey, Subtopology]:
    """Return the subtopologies of a text that has one topology, however often it was logged."""
    numbered_topologies = [
        (
            number,
            {
                key: Subtopology(
                    tuple(sorted(draft.topics)), tuple(sorted(draft.stores)), draft.by_pattern, draft.table_topics()
                )
                for key, draft in drafts.items()
            },
        )
        for number, drafts in topologies
        if drafts
    ]
    for number, drafts in topologies:
        cut = next((key for key, draft in drafts.items() if draft.is_cut), None)
        if cut is not None:
            raise _error(file, number, f"begins a topology whose sub-topology {cut.number} is cut")
        read = {topic for draft in drafts.values() for topic in draft.topics}
        unread = sorted({topic for draft in drafts.values() for topic in draft.repartitions} - read)
        if unread:
            problem = f"begins a topology that is cut: no sub-topology in it reads {shown(unread[0])}"
            raise _error(file, number, problem)
    if not numbered_topologies and is_object:
        raise SnapshotError("holds the name of a Topology, not what it describes", where=file, fix=_PRINT)
    if not numbered_topologies:
        raise SnapshotError("holds no sub-topology", where=file, fix=_FIX)
    for number, subtopologies in numbered_topologies:
        if subtopologies != numbered_topologies[0][1]:
            error = _error(
                file, number, f"is another topology than the one before it (line {numbered_topologies[0][0]})"
            )
            error.fix = "leave the one that the group runs in the file"
            raise error
    return numbered_topologies[0][1]


def _add_node(draft: _Draft, line: str) -> bool:
    """Add one line to the subtopology; ``False`` if it is no line of one."""
    if (match := _NEIGHBOURS.fullmatch(line)) is not None:
        names = _names(match["names"])
        draft.awaited = tuple(arrow for arrow in draft.awaited if arrow != match["arrow"])
        if match["arrow"] == "-->":
            draft.successors.update(names if names != ["none"] else ())
        elif draft.processors:
            draft.processors[-1][2].extend(names)
        return True
    if (match := _SOURCE.fullmatch(line)) is not None:
        draft.awaited, draft.ends_in_source = ("-->",), True
        if _TOPICS.fullmatch(match["topics"]):
            draft.sources[match["name"]] = _names(match["topics"][1:-1])
            draft.topics.update(draft.sources[match["name"]])
        else:
            draft.by_pattern = True
    elif (match := _PROCESSOR.fullmatch(line)) is not None:
        draft.awaited, draft.ends_in_source = ("-->", "<--"), False
        draft.processors.append((match["name"], _names(match["stores"]), []))
        draft.stores.update(_names(match["stores"]))
    elif (match := _SINK.fullmatch(line)) is not None:
        draft.awaited, draft.ends_in_source = ("<--",), False
        topic = match["topic"] or ""
        if match["name"].endswith(_REPARTITION_SINK) or _REPARTITION_TOPIC.fullmatch(topic):
            draft.repartitions.add(topic)
    else:
        return False
    draft.nodes.add(match["name"])
    return True


def _names(text: str) -> list[str]:
    return text.split(", ") if text else []


def _error(file: str, line: int, problem: str) -> SnapshotError:
    return SnapshotError(problem, where=f"{file}, line {line}", fix=_FIX)


def saved_lines(text: str) -> list[str]:
    """Return the lines of a text: ends of lines that are escaped count, and so do signs of HTML."""
    text = _of_records(_SPACES.sub(" ", uncoloured(text)))
    if text.count("\\n") > text.count("\n"):
        text = text.replace("\\n", "\n").replace("\\t", "\t").rstrip("\"'}], \n")
    if text.count("#012") > text.count("\n"):
        text = text.replace("#012", "\n").replace("#011", "\t")
    if _PAGE.search(text):
        text = _TAG.sub("", text)
    text = _ARROW_BACK.sub("<--", _ARROW_ON.sub("-->", unescaped(text)))
    return _NUMBERED.sub("", text).splitlines()


def _of_records(text: str) -> str:
    """Return what records of a log in JSON say, if each line is one."""
    lines = text.splitlines()
    if not any(line.startswith("{") for line in lines[:1]) or len(lines) < 2:
        return text
    messages = []
    for line in lines:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            return text
        fields = fields_of(row) if isinstance(row, Mapping) else {}
        message = next((fields[name] for name in TEXT_FIELDS if isinstance(fields.get(name), str)), None)
        messages += [] if message is None else [message.removesuffix("\n")]
    return "\n".join(messages) if messages else text
