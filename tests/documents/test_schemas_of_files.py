"""What the schemas of policies and scenarios take is what is read, whatever people write."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kstream_plan.documents.codec import Codec
from kstream_plan.documents.policy_file import VALUES, read_policy
from kstream_plan.documents.scenario_file import KINDS, read_scenario
from kstream_plan.documents.yaml_node import read_document
from kstream_plan.errors import KstreamPlanError
from kstream_plan.policy.rules import RULES
from tests.helpers.schemas import Validator, schema, validator

#: What anybody may write anywhere, right or wrong there.
WRITTEN: list[Any] = [
    0,
    1,
    3,
    -1,
    10_001,
    2**63,
    1.5,
    True,
    False,
    None,
    "",
    " ",
    "x",
    "all",
    "7",
    "true",
    "Yes",
    "off",
]
WRITTEN += [
    "90s",
    " 1m30s ",
    "90",
    "-1s",
    "100/s",
    "5%",
    "100.0 %",
    "101%",
    "2_000",
    "2__0",
    "0",
    "kept",
    "none",
    "lost",
]
WRITTEN += ["flushed-at  400/s", "flushed-at", "flushed-at x", [], [1], ["a"], ["a", "b"], ["a", "a"], [None], [[]], {}]
WRITTEN += [{"zone": 2}, {"zone": "two"}, {"zone": 0}, {"limit": 2}, {"zone": {}}, {"orders": 4}, {"orders": None}]
WRITTEN += [{"max.warmup.replicas": 4}, {"max_warmup.replicas": " +4"}, {"max.warmup.replicas": 0}, {"max.warmup": 1}]
WRITTEN += [{"num.stream.threads": 2}, {"session.timeout.ms": "60s"}, {"scheduled.rebalance.max.delay.ms": 0}]
WRITTEN += [{"rack.aware.assignment.tags": value} for value in ("a,b", ["a", 1], [["a"]], {"a": 1}, None, 1)]
WRITTEN += [{"rack.aware.assignment.strategy": value} for value in ("none", " min_traffic", "most", ["none"])]
WRITTEN += [{"main.consumer.session.timeout.ms": 1}, {"streams.session.timeout.ms": 44_999}, {"x": 1}]

#: What no schema can say: that lists are as long as a number beside them says.
BEYOND_SCHEMAS = re.compile(r"are \d+ for \d+ instances")


def _as_written(value: Any) -> str:
    return str(yaml.safe_dump(value, allow_unicode=True))


def _is_read(codec: Codec[Any], value: Any) -> bool:
    node = read_document(_as_written({"value": value}), "f")
    assert node is not None
    try:
        codec.read(node.named_nodes()[0][2])
    except KstreamPlanError:
        return False
    return True


def _codecs() -> Iterator[tuple[str, Codec[Any]]]:
    yield from VALUES.items()
    for kind, event in KINDS.items():
        yield from [] if event.short_form is None else [(kind, event.short_form.codec)]
        yield from ((f"{kind}.{name}", part.codec) for name, part in event.parts.items())


CODECS = dict(_codecs())
RIGHT = {name: [value for value in WRITTEN if _is_read(codec, value)] for name, codec in CODECS.items()}


@pytest.mark.parametrize("name", CODECS)
def test_the_schema_of_a_value_takes_what_is_read(name: str) -> None:
    codec = CODECS[name]
    held = Validator({**codec.schema, "$defs": codec.defs})
    assert RIGHT[name]
    assert [value for value in WRITTEN if held.is_valid(value)] == RIGHT[name]


def _value(name: str) -> st.SearchStrategy[Any]:
    right = st.sampled_from(RIGHT[name])
    return st.one_of(right, right, right, st.sampled_from(WRITTEN))


def _mapping(parts: dict[str, st.SearchStrategy[Any]], *needed: str) -> st.SearchStrategy[dict[str, Any]]:
    """With what is needed, as a rule, and some of the others; now and then with an unknown name."""
    known = st.fixed_dictionaries(
        {name: parts[name] for name in needed},
        optional={name: part for name, part in parts.items() if name not in needed},
    )
    loose = st.fixed_dictionaries({}, optional={**parts, "unknown": st.just(1)})
    return st.one_of(known, known, known, loose)


def _event() -> st.SearchStrategy[dict[str, Any]]:
    kinds = {}
    for kind, event in KINDS.items():
        forms = [] if event.short_form is None else [_value(kind)]
        if event.parts:
            needed = [name for name, part in event.parts.items() if part.required]
            forms.append(_mapping({name: _value(f"{kind}.{name}") for name in event.parts}, *needed))
        kinds[kind] = st.one_of(forms)
    at = {"at": st.sampled_from(["1s", 5, -1, None])}
    one = [st.fixed_dictionaries({kind: value}, optional=at) for kind, value in kinds.items()]
    return st.one_of(*one, st.fixed_dictionaries({}, optional={**kinds, **at}))


TEXTS = st.sampled_from(["why", 5, True, "", None, []])
LEVELS = st.sampled_from(["error", "warning", "eror", None, 1])


def _limits() -> st.SearchStrategy[Any]:
    limits = {
        rule: st.one_of(_value(rule), _mapping({"limit": _value(rule), "level": LEVELS, "reason": TEXTS}, "limit"))
        for rule in RULES
    }
    return st.one_of(
        st.sampled_from([None, {}, []]), _mapping(limits), *(_mapping({rule: limits[rule]}, rule) for rule in RULES)
    )


WAIVER = {
    "application": TEXTS,
    "rule": st.sampled_from([*RULES, "max_move"]),
    "until": st.sampled_from(["2027-01-31", "soon", 2027, None]),
    "reason": TEXTS,
}
POLICIES = _mapping(
    {
        "version": st.sampled_from([1, 1, 1, "1", 2, None]),
        "defaults": _limits(),
        "applications": st.one_of(st.none(), st.dictionaries(st.sampled_from(["a", "b*"]), _limits(), max_size=2)),
        "waivers": st.one_of(st.none(), st.lists(_mapping(WAIVER, *WAIVER), max_size=2)),
    },
    "version",
    "defaults",
)
SCENARIOS = _mapping(
    {"version": st.sampled_from([1, "1", 2, None]), "events": st.lists(_event(), max_size=2)}, "events"
)


def _agree(kind: str, document: Any, read: Callable[[bytes, str], object]) -> None:
    text = _as_written(document)
    is_valid = validator(kind).is_valid(json.loads(json.dumps(yaml.safe_load(text))))
    try:
        read(text.encode(), "f")
    except KstreamPlanError as error:
        messages = [str(each) for each in (error, *error.also)]
        assert not is_valid or all(map(BEYOND_SCHEMAS.search, messages)), messages
    else:
        assert is_valid, validator(kind).errors(document)


@settings(max_examples=200)
@given(POLICIES)
def test_a_policy_is_read_if_its_schema_takes_it(policy: Any) -> None:
    _agree("policy", policy, read_policy)


@settings(max_examples=200)
@given(SCENARIOS)
def test_a_scenario_is_read_if_its_schema_takes_it(scenario: Any) -> None:
    _agree("scenario", scenario, read_scenario)


@pytest.mark.parametrize("kind", ["policy", "scenario"])
def test_no_object_has_names_that_the_schema_does_not_say(kind: str) -> None:
    whole = schema(kind)
    assert whole["$id"] == f"urn:kstream-plan:schema:{kind}:1.0"
    objects = [part for part in _parts(whole) if "properties" in part and "type" in part]
    assert objects
    assert all(part["additionalProperties"] is False for part in objects)


def test_what_can_be_written_is_described() -> None:
    limits = schema("policy")["$defs"]["limits"]["properties"]
    assert list(limits) == list(RULES)
    assert all(part["description"] == RULES[name].description for name, part in limits.items())
    event = schema("scenario")["properties"]["events"]["items"]["properties"]
    assert list(event) == ["at", *KINDS]
    assert all("description" in part for part in event.values())


def _parts(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, dict):
        yield part
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from _parts(inner)
