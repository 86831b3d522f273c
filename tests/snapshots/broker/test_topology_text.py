"""The text of ``Topology.describe()``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kstream_plan.errors import SnapshotError
from kstream_plan.snapshots.broker.topology_text import (
    Subtopology,
    SubtopologyKey,
    changelog_topic,
    read_topology,
    topic_in_cluster,
)
from kstream_plan.snapshots.files.content import text_in

SAVED = Path(__file__).parent / "topologies"
TEXT = """Topologies:
   Sub-topology: 0 for global store (will not generate tasks)
    Source: KSTREAM-SOURCE-0000000000 (topics: [countries])
      --> KTABLE-SOURCE-0000000001
    Processor: KTABLE-SOURCE-0000000001 (stores: [countries-store])
      --> none
      <-- KSTREAM-SOURCE-0000000000
  Sub-topology: 1
    Source: KSTREAM-SOURCE-0000000002 (topics: [payments, orders])
      --> KSTREAM-JOIN
    Processor: KSTREAM-JOIN (stores: [join-this, join-other])
      --> to-repartition, by-class
      <-- KSTREAM-SOURCE-0000000002
    Sink: to-repartition (topic: by-region-repartition)
      <-- KSTREAM-JOIN
    Sink: by-class (extractor class: org.example.TopicOf$Lambda(x)@1f)
      <-- KSTREAM-JOIN

  Sub-topology: 2
    Source: KSTREAM-SOURCE-0000000008 (topics: [by-region-repartition])
      --> KSTREAM-AGGREGATE
    Source: KSTREAM-SOURCE-0000000009 (topics: audit\\..*)
      --> KSTREAM-AGGREGATE
    Processor: KSTREAM-AGGREGATE (stores: [regions])
      --> none
      <-- KSTREAM-SOURCE-0000000008
"""


def test_subtopologies_with_what_they_read_and_keep() -> None:
    topology = read_topology(TEXT, "topology.txt")
    assert dict(topology.subtopologies) == {
        SubtopologyKey(None, 1): Subtopology(("orders", "payments"), ("join-other", "join-this")),
        SubtopologyKey(None, 2): Subtopology(("by-region-repartition",), ("regions",), by_pattern=True),
    }


def test_tables_that_read_a_topic_and_keep_a_store() -> None:
    """Whatever else uses the store; a name of one's own is known by that of its source."""
    text = """Topologies:
   Sub-topology: 0
    Source: KSTREAM-SOURCE-0000000001 (topics: [clicks])
      --> KSTREAM-JOIN-0000000005
    Source: KSTREAM-SOURCE-0000000002 (topics: [players])
      --> KTABLE-SOURCE-0000000003
    Source: games-source (topics: [games])
      --> games
    Processor: KTABLE-SOURCE-0000000003 (stores: [players-STATE-STORE-0000000000])
      --> none
      <-- KSTREAM-SOURCE-0000000002
    Processor: games (stores: [games-store])
      --> none
      <-- games-source
    Processor: KSTREAM-JOIN-0000000005 (stores: [players-STATE-STORE-0000000000])
      --> KSTREAM-AGGREGATE-0000000006
      <-- KSTREAM-SOURCE-0000000001
    Processor: KSTREAM-AGGREGATE-0000000006 (stores: [counts])
      --> none
      <-- KSTREAM-JOIN-0000000005
"""
    (found,) = read_topology(text, "t").subtopologies.values()
    assert found.table_topics == (("games-store", "games"), ("players-STATE-STORE-0000000000", "players"))


def test_named_topologies_and_what_stands_before_them_in_a_log() -> None:
    first = TEXT.replace("Topologies:", "12:00:01 INFO app - Topology: billing:")
    second = TEXT.replace("Topologies:", "Topology: audit trail:")
    found = read_topology(f"starting\nSub-topology: none yet\n{first}\n{second}", "app.txt").subtopologies
    assert {key.topology_name for key in found} == {"billing", "audit trail"}
    assert len(found) == 4


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "topology.txt: holds no sub-topology"),
        ("Topologies:\n", "topology.txt: holds no sub-topology"),
        ("Topologies:\n   Sub-topology: 0 for global store (will not generate tasks)\n", "holds no sub-topology"),
        (
            "Topologies:\n    Source: a (topics: [b])\n",
            "topology.txt, line 2: is 'Source: a (topics: [b])', which is no",
        ),
        (TEXT.replace("(stores: [regions])", "(stores: [reg"), "topology.txt, line 24: is 'Processor: KSTREAM-AGG"),
        (
            TEXT + "12:00:02 INFO app - started\n    Sink: x (topic: y)\n",
            "line 28: is 'Sink: x (topic: y)', and the topology has",
        ),
        (TEXT.replace("Sub-topology: 2", "Sub-topology: 1"), "line 19: names sub-topology 1 again"),
    ],
)
def test_what_is_no_such_text_is_refused_with_its_line(text: str, what: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        read_topology(text, "topology.txt")
    assert what in str(caught.value)
    assert caught.value.fix


@pytest.mark.parametrize("name", ["compose", "crlf", "escaped", "inlog", "json", "utf16"])
def test_it_is_read_wherever_it_was_written_to(name: str) -> None:
    texts = [text_in((SAVED / f"{file}.txt").read_bytes()) for file in (name, "leaderboard")]
    found, plain = (read_topology(text, "topology.txt") for text in texts)
    assert found == plain
    assert len(plain.subtopologies) == 3


def _each(text: str, write: Callable[[int, str], str]) -> str:
    return "".join(f"{write(number, line)}\n" for number, line in enumerate(text.splitlines(), 1))


def test_the_name_of_an_object_is_no_topology() -> None:
    with pytest.raises(SnapshotError, match="holds the name of a Topology") as error:
        read_topology("org.apache.kafka.streams.Topology@1b2c3d4e\n", "t")
    assert "describe()" in error.value.fix


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda text: text.replace(">", "&gt;").replace("<", "&lt;"), id="HTML"),
        pytest.param(lambda text: text.replace(">", "&amp;gt;").replace("<", "&amp;lt;"), id="HTML twice"),
        pytest.param(lambda text: text.replace("-->", "\u2192").replace("<--", "\u2190"), id="arrows"),
        pytest.param(lambda text: f"<pre>{text.replace('<', '&lt;')}</pre>", id="HTML of a page"),
        pytest.param(lambda text: text.replace("<", "&lt;").replace("\n", "<br/>\n"), id="HTML with ends of lines"),
        pytest.param(lambda text: text.replace(" ", "\xa0"), id="spaces of a document"),
        pytest.param(lambda text: text.replace("\n", "#012"), id="syslog"),
        pytest.param(lambda text: _each(text, lambda _, line: f"+{line}"), id="diff"),
        pytest.param(lambda text: _each(text, lambda _, line: f"\x1b[32m{line}\x1b[0m"), id="colours"),
        pytest.param(lambda text: _each(text, lambda number, line: f"{number:4}  {line}"), id="numbers of lines"),
        pytest.param(lambda text: _each(text, lambda number, line: f"{number}:{line}"), id="grep -n"),
        pytest.param(lambda text: _each(text, lambda _, line: json.dumps({"message": line})), id="JSON a line"),
        pytest.param(
            lambda text: _each(text, lambda _, line: json.dumps({"log": f"{line}\n", "stream": "stdout", "time": "x"})),
            id="Docker",
        ),
        pytest.param(lambda text: text.replace("-->", "\u2013>").replace("<--", "<\u2013"), id="dashes"),
    ],
)
def test_it_is_read_as_pages_and_editors_write_it(change: Callable[[str], str]) -> None:
    plain = (SAVED / "leaderboard.txt").read_text()
    assert read_topology(change(plain), "t") == read_topology(plain, "t")


def test_it_is_read_in_latin_1() -> None:
    text = "Gr\u00fc\u00dfe\n" + (SAVED / "leaderboard.txt").read_text()
    assert read_topology(text_in(text.encode("latin-1")), "t") == read_topology(text, "t")
    with pytest.raises(OSError, match="not UTF-8"):
        text_in(text.encode("utf-16-le"))


def test_what_ksqldb_and_another_layout_print() -> None:
    explained, flat = (read_topology((SAVED / f"{name}.txt").read_text(), "t") for name in ("explain", "ktpl"))
    assert dict(explained.subtopologies) == {
        SubtopologyKey(None, 0): Subtopology(("orders",), ("Aggregate-Aggregate-Materialize",))
    }
    assert dict(flat.subtopologies) == {
        SubtopologyKey(None, 0): Subtopology(("conversation-meta",), ("conversation-meta-state",))
    }


def test_the_text_of_kafka_1_0_is_refused() -> None:
    with pytest.raises(SnapshotError, match=r"line 3: is 'Source: KSTREAM-SOURCE-0000000000\(topics"):
        read_topology((SAVED / "old10.txt").read_text(), "old10.txt")


@pytest.mark.parametrize("lines", range(1, 13))
def test_a_text_that_ends_too_early_is_never_fewer_stores(lines: int) -> None:
    whole = (
        "Topologies:\n   Sub-topology: 0\n    Source: s0 (topics: [a])\n      --> p0\n"
        "    Processor: p0 (stores: [A])\n      --> none\n      <-- s0\n"
        "   Sub-topology: 1\n    Source: s1 (topics: [b])\n      --> p1\n"
        "    Processor: p1 (stores: [B])\n      --> none\n      <-- s1\n"
    ).splitlines(keepends=True)
    text = "".join(whole[:lines])
    if lines == 7:  # a whole subtopology
        assert read_topology(text, "t").subtopologies[SubtopologyKey(None, 0)].stores == ("A",)
    else:
        with pytest.raises(SnapshotError, match=r"is cut|holds no sub-topology"):
            read_topology(text, "t")


def test_a_topology_whose_repartition_topic_nobody_reads_is_cut() -> None:
    whole = (SAVED / "leaderboard.txt").read_text().splitlines(keepends=True)
    with pytest.raises(SnapshotError, match="no sub-topology in it reads 'KSTREAM-KEY-SELECT-0000000001-repartition'"):
        read_topology("".join(whole[: next(number for number, line in enumerate(whole) if "topology: 1" in line)]), "t")


@pytest.mark.parametrize(
    ("name", "node"),
    [
        pytest.param("leaderboard", "KSTREAM-FILTER-0000000009", id="between others"),
        pytest.param("ktpl", "KSTREAM-KEY-SELECT-0000000002", id="behind the last processor"),
    ],
)
def test_a_node_that_is_left_out_is_told(name: str, node: str) -> None:
    (note,) = read_topology((SAVED / f"{name}.txt").read_text(), "t").notes
    assert note.subjects == (node,)
    assert f"the topology's text lacks {node}, to which it leads" in note.message


def test_topics_as_the_cluster_names_them() -> None:
    subscribed = {"orders", "shop-by-region-repartition", "shop-orders"}
    assert topic_in_cluster("orders", "shop", subscribed) == "orders"
    assert topic_in_cluster("by-region-repartition", "shop", subscribed) == "shop-by-region-repartition"
    assert topic_in_cluster("unknown", "shop", subscribed) == "unknown"
    assert changelog_topic("shop", None, "regions") == "shop-regions-changelog"
    assert changelog_topic("shop", "billing", "regions") == "shop-billing-regions-changelog"


TWICE = """Topologies:
   Sub-topology: 0
    Source: KSTREAM-SOURCE-0 (topics: [orders])
      --> KSTREAM-AGGREGATE-1
    Processor: KSTREAM-AGGREGATE-1 (stores: [counts])
      --> none
      <-- KSTREAM-SOURCE-0
"""


def test_a_topology_that_was_logged_again_is_one() -> None:
    log = f"INFO starting\n{TWICE}\nINFO running\nINFO starting\n{TWICE}"
    assert read_topology(log, "a.log").subtopologies == read_topology(TWICE, "a.log").subtopologies


def test_two_topologies_that_differ_are_told() -> None:
    with pytest.raises(SnapshotError, match=r"a.log, line 9: is another topology than the one before it \(line 1\)"):
        read_topology(f"{TWICE}\n{TWICE.replace('counts', 'sums')}", "a.log")
