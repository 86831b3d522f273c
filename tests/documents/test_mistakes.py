"""A file with several mistakes: each is told as if it were alone, all in one error."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kstream_plan.cli import run
from kstream_plan.documents.client_properties import load_client_properties
from kstream_plan.documents.instance_names import load_instance_names
from kstream_plan.documents.mistakes import Mistakes
from kstream_plan.documents.policy_file import load_policy
from kstream_plan.documents.scenario_file import load_scenario
from kstream_plan.documents.streams_config import load_streams_config
from kstream_plan.errors import ConfigError, KstreamPlanError

#: Reader, the file's name, how it begins, and lines each of which is one mistake.
CASES: dict[str, tuple[Callable[[Path], object], str, str, list[str]]] = {
    "scenario": (
        load_scenario,
        "s.yaml",
        "events:\n",
        [
            "  - {at: soon, leave: a}",
            "  - {at: 1s, leve: a}",
            "  - {at: 1s}",
            "  - join: {count: 2, hosts: [a]}",
            "  - bounce: {restart: 1s, leave: maybe}",
            "  - bounce: {instances: a}",
            "  - config: {max.warmup.replicas: 0}",
            "  - crash: true",
            "  - threads: {instance: a, count: 0}",
            "  - burst: {records: 0}",
            "  - restore_rate: {rate: fast}",
        ],
    ),
    "policy": (
        load_policy,
        "p.yaml",
        "version: 1\ndefaults:\n",
        [
            "  max_move: 5",
            "  max_moves: many",
            "  max_duration: {limit: soon}",
            "  max_rebalances: {level: error}",
            "  max_warmups: {limit: 1, level: eror}",
            "  balance_factor: 0",
            "  distinct_tag_values: {zone: 0}",
        ],
    ),
    "waivers": (
        load_policy,
        "p.yaml",
        "version: 1\nwaivers:\n",
        [
            "  - {application: a, rule: max_moves, reason: x}",
            "  - {application: a, rule: moves, until: 2027-02-03, reason: x}",
            "  - {application: a, rule: max_moves, until: 2027-02-30, reason: x}",
            "  - 3",
        ],
    ),
    "properties": (
        load_streams_config,
        "a.properties",
        "application.id=orders\n",
        [
            "max.warmup.replicas=two",
            "num.standby.replicas=-1",
            "rack.aware.assignment.strategy=best",
            "main.consumer.session.timeout.ms=soon",
            "streams.num.standby.replicas=9",
        ],
    ),
    "yaml settings": (
        load_streams_config,
        "a.yaml",
        "application.id: orders\n",
        ["max.warmup.replicas: two", "num_standby_replicas: [1]", "rack.aware.assignment.tags: [{a: b}]"],
    ),
    "escapes": (load_streams_config, "a.properties", "application.id=orders\n", ["a=\\u12", "b=\\uxyz1"]),
    "client properties": (
        load_client_properties,
        "c.properties",
        "security.protocol=SASL_SSL\n",
        [
            "config.providers=env",
            "ssl.cipher.suites=x",
            "sasl.mechanism=OAUTHBEARER",
            "ssl.protocol=SSLv3",
            "request.timeout.ms=soon",
        ],
    ),
    "names": (
        load_instance_names,
        "n.yaml",
        "a: {host: h}\n",
        ["b: {zone: z}", "c: {rack: [r]}", "d:", "a: again"],
    ),
}


def told(read: Callable[[Path], object], file: Path, text: str) -> list[str]:
    """Return what is wrong with a file, without its name."""
    file.write_text(text, encoding="utf-8")
    with pytest.raises(KstreamPlanError) as caught:
        read(file)
    assert all(not other.also for other in caught.value.also)
    return [str(one).removeprefix(f"{file}, ") for one in (caught.value, *caught.value.also)]


def placeless(error: str) -> str:
    """Return an error without the line, and without a list item's number."""
    return re.sub(r"line \d+|\[\d+\]", "", error)


@pytest.mark.parametrize("kind", CASES)
def test_every_mistake_is_told_as_if_it_were_alone(kind: str, tmp_path: Path) -> None:
    read, name, start, lines = CASES[kind]
    file = tmp_path / name
    missing = {"client properties": "sasl.mechanism"}.get(kind)  # is asked for as well while it is not there
    alone = [told(read, file, f"{start}{line}\n")[0] for line in lines if missing is None or missing not in line]
    together = told(read, file, start + "".join(f"{line}\n" for line in lines))
    assert len(together) == len(lines)
    if missing is None:
        assert sorted(map(placeless, together)) == sorted(map(placeless, alone))
    first = start.count("\n") + 1
    assert {int(re.match(r"line (\d+)", one)[1]) for one in together} == set(range(first, first + len(lines)))  # type: ignore[index]


def test_mistakes_within_one_event_are_told_together(tmp_path: Path) -> None:
    text = "events:\n  - {at: x, bounce: {restrat: 3m, pause: y, config: {max.warmup.replica: 3}}, wen: 4}\n"
    wrong = told(load_scenario, tmp_path / "s.yaml", text)
    assert [re.sub(r"^line 2, column \d+: ", "", one).partition(" ")[0] for one in wrong] == [
        "wen",
        "at",
        "restrat",
        "pause",
        "'max.warmup.replica'",
    ]


def test_a_misspelt_setting_is_told_with_the_mistakes(tmp_path: Path) -> None:
    wrong = told(load_streams_config, tmp_path / "a.properties", "max.warmup.replica=2\nnum.standby.replicas=x\n")
    assert wrong[1] == "line 1: max.warmup.replica is ignored; is it max.warmup.replicas?"


def test_what_a_block_raises_is_told_last_and_a_bug_is_none_of_them() -> None:
    def block(raised: Exception) -> None:
        with Mistakes() as mistakes:
            mistakes.note(ConfigError("first"))
            raise raised

    with pytest.raises(ConfigError) as caught:
        block(ConfigError("last"))
    assert (str(caught.value), *map(str, caught.value.also)) == ("first", "last")
    with pytest.raises(ZeroDivisionError):
        block(ZeroDivisionError())


def test_there_is_an_end_to_mistakes(tmp_path: Path) -> None:
    text = "version: 1\ndefaults:\n" + "".join(f"  max_move{number}: 1\n" for number in range(10_000))
    assert len(told(load_policy, tmp_path / "p.yaml", text)) == 20


def test_the_command_line_tells_them_a_line_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = tmp_path / "p.yaml"
    policy.write_text("version: 1\ndefaults:\n  max_move: 1\n  max_duration: soon\n", encoding="utf-8")
    assert run(["check", "none.json", "--policy", str(policy)]) == 1
    captured = capsys.readouterr()
    first, second = captured.err.splitlines()
    assert first.startswith(f"kstream-plan: error: {policy}, line 3, ")
    assert second.startswith(f"  also: {policy}, line 4, ")
    assert not captured.out
