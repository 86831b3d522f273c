"""A policy file (``--policy``): YAML with limits by rule (``kstream-plan schema policy``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from kstream_plan.documents.codec import Codec, Json, defs_of, schema_of, with_name
from kstream_plan.documents.quantities import COUNT_TEXT, SHARE_TEXT, parse_count, parse_duration, parse_share
from kstream_plan.documents.yaml_node import YamlNode, read_document
from kstream_plan.documents.yaml_values import DURATION_SCHEMA, TEXT, at_least, mapping, number
from kstream_plan.errors import ConfigError
from kstream_plan.model.settings import MAX_LONG
from kstream_plan.policy.limits import Level, Limit, LimitValue, Policy, Waiver
from kstream_plan.policy.rules import RULES, Kind, Rule
from kstream_plan.snapshots.files.content import SETTINGS_BYTES, read_file, unzipped_text
from kstream_plan.snapshots.files.kinds import POLICY, naming_other_kinds

VERSION = "1"
_PARTS = ("version", "defaults", "applications", "waivers")
_LONG_FORM = ("limit", "level", "reason")
_WAIVER = ("application", "rule", "until", "reason")
_FIX_POLICY = "write version: 1, then defaults, applications and waivers (kstream-plan schema policy)"
_FIX_NO_RULES = "write one, as in defaults: {max_duration: 45m}; without --policy plans only have to settle"
_FIX_LIMITS = "write rules with their limits, as in max_duration: 45m"
_FIX_WAIVER = 'write {application: "legacy-*", rule: max_duration, until: 2027-01-31, reason: "why"}'
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def load_policy(path: Path) -> Policy:
    """Read a policy file.

    Raises:
        ConfigError: the file cannot be read, is not YAML, has no rules, or something in it is not known, missing,
            there twice or out of its range; with line and column.
    """
    try:
        data = unzipped_text(read_file(path, SETTINGS_BYTES))
    except OSError as error:
        problem = f"cannot read the file: {error.strerror or error}"
        raise ConfigError(problem, where=str(path), fix="check --policy") from error
    with naming_other_kinds(data, POLICY.name, str(path)):
        return read_policy(data, str(path))


def read_policy(data: bytes, file: str) -> Policy:
    """Return the policy in ``data``; see :func:`load_policy`."""
    policy = _read(data, file)
    if not policy.defaults and not any(policy.applications.values()):
        raise ConfigError("the policy has no rules", where=file, fix=_FIX_NO_RULES)
    return policy


def _read(data: bytes, file: str) -> Policy:
    document = read_document(data, file)
    if document is None:
        return Policy()
    for name, key, _ in document.named_nodes() if document.is_mapping else ():
        if name in RULES:
            raise key.fail("is a rule, and stands outside of defaults", f"write defaults: {{{name}: …}}")
    with document.parts(_PARTS, _FIX_POLICY) as parts:
        if not parts.nodes and parts.flawless:
            return Policy()
        if "version" not in parts:
            if parts.flawless:
                parts.note(document.fail("has no version", "begin with version: 1"))
        elif parts.nodes["version"].text("write version: 1") != VERSION:
            raise parts.nodes["version"].fail("is of a version that is not known", "write version: 1")
        return Policy(
            defaults=parts.get("defaults", _limits_if_any, MappingProxyType({})),
            applications=parts.get("applications", _applications, MappingProxyType({})),
            waivers=parts.get("waivers", _waivers, ()),
        )


def _applications(field: YamlNode) -> Mapping[str, Mapping[str, Limit]]:
    fix = 'write application ids or globs with their rules, as in "payments-*": {max_duration: 15m}'
    return MappingProxyType({} if field.is_empty else field.mapped(lambda _, limits: _limits(limits), fix))


def _waivers(field: YamlNode) -> tuple[Waiver, ...]:
    return () if field.is_empty else tuple(field.read_each(_waiver, _FIX_WAIVER))


def _limits_if_any(field: YamlNode) -> Mapping[str, Limit]:
    return MappingProxyType({}) if field.is_empty else _limits(field)


def _limits(field: YamlNode) -> Mapping[str, Limit]:
    return MappingProxyType(field.mapped(_limit, _FIX_LIMITS, tuple(RULES)))


def _limit(name: str, field: YamlNode) -> Limit:
    rule, value = RULES[name], VALUES[name]
    if not field.is_mapping or (rule.kind is Kind.TAGS and not _has_limit_of_tags(field)):
        return Limit(value.read(field))
    limit_fix = "write {limit: …, level: error or warning, reason: …}"
    with field.parts(_LONG_FORM, _FIX_LIMITS, required=("limit",), required_fix=limit_fix) as parts:
        return Limit(
            parts.get("limit", value.read, False),
            parts.get("level", lambda level: Level(level.one_of(tuple(Level))), Level.ERROR),
            parts.get("reason", lambda reason: reason.text("write why there is the rule, or leave it out"), ""),
        )


def _has_limit_of_tags(field: YamlNode) -> bool:
    """Tell the long form from a tag that is called ``limit``."""
    return any(name == "limit" and value.is_mapping for name, _, value in field.named_nodes())


class _Form(NamedTuple):
    """How limits are written: their parser, the fix for a wrong one, and their named JSON Schema."""

    name: str
    parse: Callable[[str], LimitValue]
    fix: str
    schema: dict[str, Json]


def _switch(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text == "true"


_COUNTED = number(
    "integer",
    COUNT_TEXT,
    "A whole number, with _ between its digits if that reads better.",
    maximum=MAX_LONG,
)
_SHARE = _Form(
    "share",
    parse_share,
    "write a number like 20 or 2_000_000, or a part like 5%",
    number(
        "integer",
        SHARE_TEXT,
        "A whole number, or a part of the whole that the rule counts, as in 5%.",
        maximum=MAX_LONG,
    ),
)
_FORMS: Mapping[Kind, _Form] = MappingProxyType(
    {
        Kind.DURATION: _Form("duration", parse_duration, "write a duration like 90s, 10m or 1.5h", DURATION_SCHEMA),
        Kind.COUNT: _Form("count", parse_count, "write a number like 20", _COUNTED),
        Kind.GENERATION: _Form(
            "count", parse_count, "write the number of the generation that the plan must start from", _COUNTED
        ),
        Kind.SWITCH: _Form("switch", _switch, "write true or false", {"enum": [True, False, "true", "false"]}),
    }
)


def _value_of(rule: Rule) -> Codec[LimitValue]:
    """Return how the limit of a rule is read, and its schema."""
    if rule.kind is Kind.TAGS:
        return _tag_counts(rule.lowest)
    form = _SHARE if rule.whole is not None else _FORMS[rule.kind]

    def read(field: YamlNode) -> LimitValue:
        value = field.parse_text(form.parse, form.fix)
        if isinstance(value, int) and not isinstance(value, bool) and value < rule.lowest:
            raise field.fail(f"is {value}, below {rule.lowest}", f"write {rule.lowest} or more")
        return value

    return with_name(f"{form.name}{rule.lowest or ''}", Codec(read, None, at_least(rule.lowest, form.schema)))


def _tag_counts(lowest: int) -> Codec[LimitValue]:
    fix = "write tags with the least number of their values, as in {zone: 2}"

    def read_count(_: str, item: YamlNode) -> int:
        count = item.parse_text(parse_count, fix)
        if count < lowest:
            raise item.fail(f"is {count}, below {lowest}", fix)
        return count

    def read(field: YamlNode) -> LimitValue:
        counts = field.mapped(read_count, fix)
        if not counts:
            raise field.fail("names no tag", fix)
        return tuple(sorted(counts.items()))

    schema: dict[str, Json] = {
        "description": "The minimum number of different values, by tag.",
        "type": "object",
        "minProperties": 1,
        "additionalProperties": at_least(lowest, _COUNTED),
    }
    return with_name("tags", Codec(read, None, schema))


#: How the limit of each rule is read, and its schema.
VALUES: Mapping[str, Codec[LimitValue]] = MappingProxyType({name: _value_of(rule) for name, rule in RULES.items()})


def _waiver(field: YamlNode) -> Waiver:
    with field.parts(_WAIVER, _FIX_WAIVER, required=_WAIVER, required_fix=_FIX_WAIVER) as parts:
        return Waiver(
            application=parts.get("application", lambda name: name.text("write an application id or a glob"), ""),
            rule=parts.get("rule", lambda rule: rule.one_of(tuple(RULES)), ""),
            last_day=parts.get("until", _last_day, date.min),
            reason=parts.get("reason", lambda reason: reason.text("write why, or the ticket"), ""),
        )


def _last_day(field: YamlNode) -> date:
    return field.parse_text(parse_date, "write the last day on which it counts, as in 2027-01-31")


def parse_date(text: str) -> date:
    """Return the day of ``2027-01-31``.

    Raises:
        ValueError: ``text`` is no such day.
    """
    try:
        if not _DATE.fullmatch(text):
            raise ValueError(text)
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a day like 2027-01-31") from None


def schema() -> dict[str, Json]:
    """Return the JSON Schema of a policy file."""
    limits = mapping({name: _limit_schema(name) for name in RULES})
    waiver = mapping(
        {
            "application": TEXT.described("An application id or glob.").schema,
            "rule": {"enum": list(RULES), "description": "The rule that does not count."},
            "until": {
                "description": "The last day on which it applies.",
                "type": "string",
                "format": "date",
                "pattern": f"^{_DATE.pattern}$",
            },
            "reason": TEXT.described("Why, or the ticket.").schema,
        },
        _WAIVER,
    )
    document = mapping(
        {
            "version": {"enum": [1, VERSION], "description": "Version of this format."},
            "defaults": {
                "description": "For every application.",
                "anyOf": [{"$ref": "#/$defs/limits"}, {"type": "null"}],
            },
            "applications": {
                "description": "By application id or glob (*, ?, [...]); for each rule the most specific one applies.",
                "type": ["object", "null"],
                "additionalProperties": {"$ref": "#/$defs/limits"},
            },
            "waivers": {
                "description": "What lets applications off a rule for some time.",
                "type": ["array", "null"],
                "items": waiver,
            },
        },
        ["version"],
        anyOf=[
            {"required": ["defaults"], "properties": {"defaults": {"type": "object", "minProperties": 1}}},
            {
                "required": ["applications"],
                "properties": {
                    "applications": {"type": "object", "not": {"additionalProperties": {"maxProperties": 0}}}
                },
            },
        ],
    )
    description: Json = "What plans have to keep to. Nothing in it at all is an error: the policy has no rules."
    defs: dict[str, Json] = {**defs_of(VALUES.values()), "limits": limits}
    return schema_of("policy", "Policy", Codec(str, None, {"description": description, **document}, defs))


def _limit_schema(name: str) -> Json:
    value = VALUES[name].schema
    long_form = mapping(
        {
            "limit": value,
            "level": {"enum": list(Level), "description": "How much a violation counts; error if not given."},
            "reason": TEXT.described("Why the rule exists.").schema,
        },
        ["limit"],
    )
    return {"description": RULES[name].description, "anyOf": [value, long_form]}
