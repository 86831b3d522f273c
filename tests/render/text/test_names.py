"""Names are short, unique and harmless."""

import re

import pytest
from rich.cells import cell_len

from kstream_plan.model import Consumer, Group, Instance, TaskId
from kstream_plan.plans import Role, Seat
from kstream_plan.render.answers import to_table as table
from kstream_plan.render.text.escape import markdown, markdown_row, markdown_sentence, printable, to_encoding
from kstream_plan.render.text.names import Names
from tests.helpers import plan_cases


def names(hosts: list[str | None], ids: list[str] | None = None, threads: list[str] | None = None) -> list[str]:
    ids = ids or [f"{index}bcdef{index}" for index in range(len(hosts))]
    members = [
        Instance(process_id=pid, host=host, consumers=(Consumer(consumer_id=f"{pid}-1"),))
        for pid, host in zip(ids, hosts, strict=True)
    ]
    found = Names(Group.of("app", [], members))
    return [found.instance(pid) for pid in ids]


@pytest.mark.parametrize(
    ("hosts", "expected"),
    [
        (["orders-0", "orders-1"], ["orders-0", "orders-1"]),
        (["orders-0.orders.svc", "orders-1.orders.svc"], ["orders-0", "orders-1"]),
        (["worker-0.connect.svc:8083", "worker-1.connect.svc:8083", "new-1"], ["worker-0", "worker-1", "new-1"]),
        (["a-0.connect.svc", "a-1.orders.svc"], ["a-0.connect.svc", "a-1.orders.svc"]),
        (["10.0.0.1", "11.0.0.1"], ["10.0.0.1", "11.0.0.1"]),
        (["node-a", "node-a", "node-b"], ["node-a/0bcd", "node-a/1bcd", "node-b"]),
        (["payments-7c9f8d6b5-x2x4z", "payments-7c9f8d6b5-a8b9c"], ["…x2x4z", "…a8b9c"]),
        (["payments-7c9f8d6b5-x2x4z", "payments-55d4f6c7d-a8b9c"], ["…7c9f8d6b5-x2x4z", "…55d4f6c7d-a8b9c"]),
        (["only-one-very-long-host-name"], ["only-one-very-long-host-name"]),
        ([None, "orders-1"], ["0bcd", "orders-1"]),
        (["", None], ["0bcd", "1bcd"]),
        (["a" * 50, "b" * 50], ["a" * 16 + "…" + "a" * 15, "b" * 16 + "…" + "b" * 15]),
        (["\x1b[31mred", "[red]x"], ["\\x1b[31mred", "[red]x"]),
    ],
)
def test_instances_go_by_host_where_that_tells_them_apart(hosts: list[str | None], expected: list[str]) -> None:
    assert names(hosts) == expected


def test_ids_are_cut_to_the_shortest_unique_prefix_of_at_least_four() -> None:
    assert names([None] * 4, ["abcdef1", "abcdef2", "abzzzz3", "q"]) == ["abcdef1", "abcdef2", "abzz", "q"]


def test_instances_are_listed_as_people_count() -> None:
    one = (Consumer(consumer_id="c"),)
    members = [Instance(process_id=f"id{n}", host=f"h{n}", consumers=one) for n in range(12)]
    found = Names(Group.of("app", [], members))
    assert found.instances([f"id{n}" for n in (11, 2, 10, 1)]) == ["h1", "h2", "h10", "h11"]


def test_a_thread_goes_by_kafkas_number_or_by_its_place() -> None:
    def seats(*consumer_ids: str) -> list[str]:
        member = Instance(process_id="abcd", consumers=tuple(Consumer(consumer_id=name) for name in consumer_ids))
        found = Names(Group.of("app", [], [member]))
        return [found.seat(Seat("abcd", name, Role.ACTIVE)) for name in consumer_ids]

    assert seats("app-StreamThread-7-consumer-x", "app-StreamThread-12-consumer-y") == ["abcd/7", "abcd/12"]
    assert seats("b", "a") == ["abcd/2", "abcd/1"]
    assert seats("alone-StreamThread-3") == ["abcd"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain-1", "plain-1"),
        ("caf\u00e9 \u5317", "caf\u00e9 \u5317"),
        ("a\x1b[31m\x07\x9b", "a\\x1b[31m\\x07\\x9b"),
        ("a\r\nb\t", "a\\r\\nb\\t"),
        ("\u202eabc\u200b\u2028", "\\u202eabc\\u200b\\u2028"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_could_drive_a_terminal_is_written_as_an_escape(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("orders-0", "orders-0"),
        ("0_0 i3→i5", "0_0 i3→i5"),
        ("name__0_1", "`name__0_1`"),
        ("*bold*", "`*bold*`"),
        ("<script>alert(1)</script>", "`<script>alert(1)</script>`"),
        ("@team", "`@team`"),
        ("www.example.com", "`www.example.com`"),
        ("https://x", "`https://x`"),
        ("a`b``c", "```a`b``c```"),
        ("`", "`` ` ``"),
        ("", "`  `"),
        ("a\nb", "`a\\nb`"),
    ],
)
def test_markdown_shows_a_name_literally(text: str, shown: str) -> None:
    assert markdown(text) == shown


def test_a_bar_does_not_end_a_cell() -> None:
    assert markdown_row(["a|b", markdown("c|d")]) == "| a\\|b | `c\\|d` |"


def test_a_sentence_keeps_its_words_and_quotes_the_rest() -> None:
    sentence = "Tasks 0_1, 1_2 (of 24) wait for num.standby.replicas=2; <b> is @not plain  (-v: 1) (www.b)."
    assert markdown_sentence(sentence) == (
        "Tasks 0_1, 1_2 (of 24) wait for num.standby.replicas=2; `<b>` is `@not` plain  (`-v`: 1) (`www.b`)."
    )


def test_an_encoding_without_arrows_gets_ascii_ones() -> None:
    assert to_encoding("i1→i2 3 → 5 → 0 \u5317…", "ascii") == "i1>i2 3 -> 5 -> 0 \\u5317~"
    assert to_encoding("i1→i2", "utf-8") == "i1→i2"


@pytest.mark.parametrize("name", ["scale-out", "scale-out-standbys", "pods", "many-instances", "settled"])
def test_ascii_lines_are_as_wide_as_the_others_but_for_their_signs(name: str) -> None:
    text = table(plan_cases.case(name))
    shown = to_encoding(text, "ascii")
    assert shown.isascii()
    for line, was in zip(shown.splitlines(), text.splitlines(), strict=True):
        assert cell_len(was) <= len(line) <= cell_len(was) + len(re.findall("→ ", was))


def test_a_sign_takes_a_blank_of_the_gap_behind_it() -> None:
    line = "3 → 5 → 4    5 probes"
    assert to_encoding(line, "ascii") == "3 -> 5 -> 4  5 probes"


def test_task_ids_are_escaped_too() -> None:
    found = Names(Group.of("app", [], []))
    assert found.task(TaskId(0, 1, "a\x1b")) == "a\\x1b__0_1"
