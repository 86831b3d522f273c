"""Policy files: what they may say, and one clear error with its place for everything else."""

from __future__ import annotations

import random
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kstream_plan.documents.policy_file import load_policy, read_policy
from kstream_plan.errors import ConfigError
from kstream_plan.policy.limits import Level, Limit, Percent, Policy, Waiver
from kstream_plan.policy.rules import RULES
from tests.helpers.schemas import schema, validator

EXAMPLE = Path(__file__).parents[2] / "examples/ci/policy.yaml"
SAMPLE = b"""version: 1
defaults: {max_duration: 45m, max_moves: 5%, max_restored_records: 2_000_000, must_settle: true}
applications:
  "payments-*": {max_duration: {limit: 1.5h, level: warning, reason: "slow, but it can wait"}, min_standbys: 1,
                 distinct_tag_values: {zone: 2, rack: 3}}
waivers:
  - {application: "legacy-*", rule: max_duration, until: 2027-01-31, reason: "OPS-412"}
"""


def test_a_policy_as_people_write_it() -> None:
    assert read_policy(SAMPLE, "p.yaml") == Policy(
        defaults={
            "max_duration": Limit(2_700_000),
            "max_moves": Limit(Percent(Decimal(5))),
            "max_restored_records": Limit(2_000_000),
            "must_settle": Limit(True),
        },
        applications={
            "payments-*": {
                "max_duration": Limit(5_400_000, Level.WARNING, "slow, but it can wait"),
                "min_standbys": Limit(1),
                "distinct_tag_values": Limit((("rack", 3), ("zone", 2))),
            }
        },
        waivers=(Waiver("legacy-*", "max_duration", date(2027, 1, 31), "OPS-412"),),
    )


DEFAULTS = "defaults: {max_moves: 1}\n"
WAIVER = 'waivers: [{application: a, rule: max_moves, until: 2027-01-31, reason: "OPS-412"}]\n'
EMPTY = ["", "# nothing\n", "---\n", "{}", "null", "version: 1", "version: 1\ndefaults: {}"]
EMPTY += ["version: 1\napplications: {}", 'version: 1\napplications: {"*": {}}', f"version: 1\n{WAIVER}"]


@pytest.mark.parametrize("text", EMPTY)
def test_an_empty_policy_is_an_error(text: str) -> None:
    with pytest.raises(ConfigError, match=r"p.yaml: the policy has no rules. Fix: write one, as in defaults"):
        read_policy(text.encode(), "p.yaml")


@pytest.mark.parametrize("part", ["defaults", "applications", "waivers"])
def test_a_part_with_nothing_in_it_is_empty(part: str) -> None:
    rest = "" if part == "waivers" else WAIVER
    rest += DEFAULTS if part != "defaults" else 'applications: {"*": {max_moves: 1}}\n'
    for nothing in ("", " # all commented out", " null"):
        text = f"version: 1\n{part}:{nothing}\n{rest}"
        assert not getattr(read_policy(text.encode(), "p.yaml"), part)
        validator("policy").validate(yaml.load(text, _DatesAsText))


def test_a_tag_may_be_called_limit() -> None:
    text = b"version: 1\ndefaults: {distinct_tag_values: {limit: 2}}"
    assert read_policy(text, "p").defaults == {"distinct_tag_values": Limit((("limit", 2),))}
    text = b"version: 1\ndefaults: {distinct_tag_values: {limit: {limit: 2}, level: warning}}"
    assert read_policy(text, "p").defaults == {"distinct_tag_values": Limit((("limit", 2),), Level.WARNING)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "p.yaml, line 1, column 5: not YAML: expected the node content, but found '<stream end>'"),
        ("- 1", "p.yaml, line 1, column 1: is a list, not a mapping"),
        ("defaults: {}", "p.yaml, line 1, column 1: has no version. Fix: begin with version: 1"),
        ("version: 2", "p.yaml, line 1, column 10: version is of a version that is not known. Fix: write version: 1"),
        (
            "version: 1\nmax_moves: 5",
            "p.yaml, line 2, column 1: max_moves is a rule, and stands outside of defaults. Fix: write defaults: "
            "{max_moves: …}",
        ),
        (
            "version: 1\ndefault: {}",
            "p.yaml, line 2, column 1: has 'default', which is not known. Fix: is it defaults?",
        ),
        (
            "version: 1\ndefaults:\n  max_move: 5",
            "p.yaml, line 3, column 3: defaults has 'max_move', which is not known. Fix: is it max_moves?",
        ),
        (
            "version: 1\ndefaults: {max_moves: 1, max_moves: 2}",
            "p.yaml, line 2, column 26: defaults has 'max_moves' twice. Fix: keep one of them",
        ),
        ("version: 1\ndefaults: {max_moves: }", "p.yaml, line 2, column 22: defaults.max_moves has no value"),
        ("version: 1\ndefaults: {max_moves: 1.5}", "'1.5' is neither a whole number like 20 or 2_000_000 nor a part"),
        ("version: 1\ndefaults: {max_moves: 101%}", "'101%' is neither a whole number"),
        ("version: 1\ndefaults: {max_rebalances: 5%}", "'5%' is not a whole number like 20 or 2_000_000"),
        ("version: 1\ndefaults: {max_duration: soon}", "line 2, column 26: defaults.max_duration is wrong: 'soon' is"),
        ("version: 1\ndefaults: {must_settle: yes}", "'yes' is neither true nor false"),
        ("version: 1\ndefaults: {balance_factor: 0}", "defaults.balance_factor is 0, below 1. Fix: write 1 or more"),
        ("version: 1\ndefaults: {distinct_tag_values: {zone: 0}}", "distinct_tag_values.zone is 0, below 1"),
        ("version: 1\ndefaults: {distinct_tag_values: {}}", "distinct_tag_values names no tag"),
        ("version: 1\ndefaults: {max_moves: {level: error}}", "defaults.max_moves has no limit"),
        (
            "version: 1\ndefaults: {max_moves: {limit: 1, level: eror}}",
            "is 'eror', which is not known. Fix: is it error?",
        ),
        (
            "version: 1\ndefaults: {max_moves: {limit: 1, levle: error}}",
            "has 'levle', which is not known. Fix: is it le",
        ),
        ("version: 1\ndefaults: {max_moves: [1]}", "defaults.max_moves is a list"),
        ("version: 1\nwaivers: {}", "waivers is a mapping, not a list"),
        ("version: 1\nwaivers: [{application: a, rule: max_moves, reason: x}]", "waivers[0] has no until"),
        (
            "version: 1\nwaivers: [{application: a, rule: max_moves, until: 2027-02-30, reason: x}]",
            "line 2, column 52: waivers[0].until is wrong: '2027-02-30' is not a day like 2027-01-31",
        ),
        (
            "version: 1\nwaivers: [{application: a, rule: moves, until: 2027-02-03, reason: x}]",
            "waivers[0].rule is 'moves', which is not known. Fix: is it max_moves?",
        ),
        ("version: 1\na: &a {}\ndefaults: {<<: *a}", "has 'a', which is not known"),
        ("version: 1\ndefaults: {<<: {max_moves: 1}}", "defaults has a merge key <<. Fix: write the entries out"),
        ("version: 1\ndefaults: &a {max_moves: *a}", "defaults.max_moves has 'max_moves', which is not known"),
        ("version: 1\n---\nversion: 1", "not YAML"),
        ("version: 1\ndefaults: {? [a] : 1}", "defaults has a name that is no text"),
    ],
)
def test_one_clear_error(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        read_policy(text.encode(), "p.yaml")
    assert message in str(error.value)
    assert error.value.fix


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read the file: No such file or directory"):
        load_policy(tmp_path / "none.yaml")


def test_a_mutated_policy_is_one_clear_error_or_valid() -> None:
    seeds = [SAMPLE, EXAMPLE.read_bytes()]
    pieces = [
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b"\n",
        b" ",
        b"&a ",
        b"*a",
        b"<<: ",
        b"- ",
        b"%",
        b"!!int ",
        b"\x00",
        b"\xff",
    ]
    pieces += [b"'", b'"', b"|", b"\t", b"? ", b"limit", b"9" * 40, b"-1", b"null", b"\xf0\x9f\x98\x80", b"---\n", b"@"]
    rng = random.Random(20261121)
    valid = wrong = 0
    for _ in range(600):
        data = bytearray(rng.choice(seeds))
        for _ in range(rng.randint(1, 3)):
            place = rng.randrange(len(data) + 1)
            end = min(len(data), place + rng.choice([0, 0, 1, 1, 5, 30]))
            data[place:end] = rng.choice([b"", rng.choice(pieces), bytes([rng.randrange(256)]), bytes(data[:20])])
        error = _error(bytes(data))
        valid += error is None
        wrong += error is not None
    assert valid > 30
    assert wrong > 300


@given(st.binary(max_size=200))
def test_any_bytes_are_a_policy_or_an_error(data: bytes) -> None:
    _error(data)


def _error(data: bytes) -> ConfigError | None:
    """What is wrong with a policy, which is said in one sentence with the file and what to do; nothing else comes."""
    try:
        policy = read_policy(data, "p.yaml")
    except ConfigError as error:
        found = error
    else:
        assert isinstance(policy, Policy)
        return None
    assert found.what
    assert found.fix
    assert found.where.startswith("p.yaml")
    return found


def test_the_schema_describes_what_is_read() -> None:
    assert set(schema("policy")["$defs"]["limits"]["properties"]) == set(RULES)
    for data in (SAMPLE, EXAMPLE.read_bytes()):
        validator("policy").validate(yaml.load(data, _DatesAsText))
        read_policy(data, "p")
    for text in (
        *EMPTY,
        "defaults: {}",
        "version: 1\ndefaults: {max_move: 5}",
        "version: 1\ndefaults: {max_rebalances: 5%}",
    ):
        assert not validator("policy").is_valid(yaml.load(text, _DatesAsText))


class _DatesAsText(yaml.SafeLoader):
    """Leaves days as they are written."""


_DatesAsText.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:timestamp"]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
