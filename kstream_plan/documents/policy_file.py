"""A policy file (``--policy``): YAML, as ``documents/schemas/policy.json`` describes it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from types import MappingProxyType

from kstream_plan.documents.quantities import parse_count, parse_duration, parse_share
from kstream_plan.documents.yaml_node import YamlNode, read_document
from kstream_plan.errors import ConfigError
from kstream_plan.policy.limits import Level, Limit, LimitValue, Policy, TagCounts, Waiver
from kstream_plan.policy.rules import RULES, Kind, Rule
from kstream_plan.snapshots.files.content import SETTINGS_BYTES, read_file

VERSION = "1"
_PARTS = ("version", "defaults", "applications", "waivers")
_LONG_FORM = ("limit", "level", "reason")
_WAIVER = ("application", "rule", "until", "reason")
_FIX_POLICY = "write version: 1, then defaults, applications and waivers (kstream-plan schema policy)"
_FIX_LIMITS = "write rules with their limits, as in max_duration: 45m"
_FIX_WAIVER = 'write {application: "legacy-*", rule: max_duration, until: 2027-01-31, reason: "why"}'
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def load_policy(path: Path) -> Policy:
    """Read a policy file; an empty one only demands that plans settle.

    Raises:
        ConfigError: the file cannot be read, is not YAML, or something in it is not known, missing, there twice or
            out of its range; with line and column.
    """
    try:
        data = read_file(path, SETTINGS_BYTES)
    except OSError as error:
        what = f"cannot read the file: {error.strerror or error}"
        raise ConfigError(what, where=str(path), fix="check --policy") from error
    return read_policy(data, str(path))


def read_policy(data: bytes, file: str) -> Policy:
    """Return the policy in ``data``; see :func:`load_policy`."""
    document = read_document(data, file)
    if document is None:
        return Policy()
    parts = dict(document.known_items(_PARTS, _FIX_POLICY))
    if not parts:
        return Policy()
    if "version" not in parts:
        raise document.fail("has no version", "begin with version: 1")
    if parts["version"].text("write version: 1") != VERSION:
        raise parts["version"].fail("is of a version that is not known", "write version: 1")
    parts = {name: part for name, part in parts.items() if not part.is_empty}
    return Policy(
        defaults=_limits(parts["defaults"]) if "defaults" in parts else MappingProxyType({}),
        applications=_applications(parts["applications"]) if "applications" in parts else MappingProxyType({}),
        waivers=tuple(map(_waiver, parts["waivers"].entries(_FIX_WAIVER))) if "waivers" in parts else (),
    )


def _applications(field: YamlNode) -> Mapping[str, Mapping[str, Limit]]:
    fix = 'write application ids or globs with their rules, as in "payments-*": {max_duration: 15m}'
    return MappingProxyType({glob: _limits(limits) for glob, limits in field.items(fix)})


def _limits(field: YamlNode) -> Mapping[str, Limit]:
    items = field.known_items(tuple(RULES), _FIX_LIMITS)
    return MappingProxyType({name: _limit(RULES[name], item) for name, item in items})


def _limit(rule: Rule, field: YamlNode) -> Limit:
    parts = dict(field.items(_FIX_LIMITS)) if field.is_mapping else {}
    long = field.is_mapping and (rule.kind is not Kind.TAGS or ("limit" in parts and parts["limit"].is_mapping))
    if not long:
        return Limit(_value(rule, field))
    parts = dict(field.known_items(_LONG_FORM, _FIX_LIMITS))
    if "limit" not in parts:
        raise field.fail("has no limit", "write {limit: …, level: error or warning, reason: …}")
    return Limit(
        _value(rule, parts["limit"]),
        Level(parts["level"].one_of(tuple(Level))) if "level" in parts else Level.ERROR,
        parts["reason"].text("write why there is the rule, or leave it out") if "reason" in parts else "",
    )


def _value(rule: Rule, field: YamlNode) -> LimitValue:
    if rule.kind is Kind.TAGS:
        return _tag_counts(rule, field)
    parse, fix = _SHARE if rule.whole is not None else _READERS[rule.kind]
    value = field.parsed(parse, fix)
    if isinstance(value, int) and not isinstance(value, bool) and value < rule.lowest:
        raise field.fail(f"is {value}, below {rule.lowest}", f"write {rule.lowest} or more")
    return value


def _tag_counts(rule: Rule, field: YamlNode) -> TagCounts:
    fix = "write tags with the least number of their values, as in {zone: 2}"
    counts = []
    for tag, item in field.items(fix):
        count = item.parsed(parse_count, fix)
        if count < rule.lowest:
            raise item.fail(f"is {count}, below {rule.lowest}", fix)
        counts.append((tag, count))
    if not counts:
        raise field.fail("names no tag", fix)
    return tuple(sorted(counts))


def _switch(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text == "true"


_SHARE: tuple[Callable[[str], LimitValue], str] = (
    parse_share,
    "write a number like 20 or 2_000_000, or a part like 5%",
)
_READERS: Mapping[Kind, tuple[Callable[[str], LimitValue], str]] = MappingProxyType(
    {
        Kind.DURATION: (parse_duration, "write a duration like 90s, 10m or 1.5h"),
        Kind.COUNT: (parse_count, "write a number like 20"),
        Kind.GENERATION: (parse_count, "write the number of the generation that the plan must start from"),
        Kind.SWITCH: (_switch, "write true or false"),
    }
)


def _waiver(field: YamlNode) -> Waiver:
    parts = dict(field.known_items(_WAIVER, _FIX_WAIVER))
    for name in _WAIVER:
        if name not in parts:
            raise field.fail(f"has no {name}", _FIX_WAIVER)
    return Waiver(
        application=parts["application"].text("write an application id or a glob"),
        rule=parts["rule"].one_of(tuple(RULES)),
        until=parts["until"].parsed(parse_date, "write the last day on which it counts, as in 2027-01-31"),
        reason=parts["reason"].text("write why, or the ticket"),
    )


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
