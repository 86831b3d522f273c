"""The values of scenarios: how each is read, and its JSON Schema."""

from __future__ import annotations

from functools import partial
from typing import Literal, TypeAlias

from kstream_plan.documents.codec import Codec, Json, with_name
from kstream_plan.documents.mistakes import Mistakes
from kstream_plan.documents.quantities import RATE_TEXT, parse_rate
from kstream_plan.documents.streams_config import KNOWN_NAMES, setting_value
from kstream_plan.documents.yaml_node import YamlNode
from kstream_plan.documents.yaml_values import NAMES, TEXT, fitting, number, whole
from kstream_plan.model.connect_group import CONNECT_SETTINGS
from kstream_plan.model.releases import parse_modelled_release
from kstream_plan.model.scenario import MOST_INSTANCES, MOST_TASKS, SettingValue, TaskCount
from kstream_plan.model.settings import CONNECT_GROUP_ONLY, MAX_LONG, RACK_STRATEGIES, RANGES, RELEASE
from kstream_plan.model.streams_group import GROUP_SETTINGS

#: What is left of what instances had, and how much of it was flushed a second.
StateLeft: TypeAlias = tuple[Literal["kept", "lost", "flushed"] | None, float | None]


def _state_left(text: str) -> StateLeft:
    match text.split():
        case ["kept"]:
            return "kept", None
        case ["lost"]:
            return "lost", None
        case ["flushed-at", rate]:
            return "flushed", parse_rate(rate)
        case _:
            raise ValueError("is not kept, lost or flushed-at 400/s")


def _tags(value: YamlNode) -> tuple[tuple[str, str], ...]:
    with Mistakes() as mistakes:
        return tuple(sorted(mistakes.read_each(value.named_nodes(), lambda pair: (pair[0], pair[2].text()))))


def _task_counts(value: YamlNode) -> tuple[TaskCount, ...]:
    counts = tuple(TaskCount(name, TASKS.read(node)) for name, _, node in value.named_nodes())
    if not counts:
        raise value.fail("names no connector", "write its name and the number of its tasks, as {orders: 4}")
    return counts


def _settings(value: YamlNode) -> tuple[tuple[str, SettingValue], ...]:
    with Mistakes() as mistakes:
        settings = mistakes.read_each(value.named_nodes(), lambda pair: _setting(*pair))
    return tuple(sorted(dict(settings).items()))


def _setting(name: str, key: YamlNode, value: YamlNode) -> tuple[str, SettingValue]:
    if name == RELEASE:
        return name, value.parse_text(parse_modelled_release, "write a release of Kafka, as 3.9.1")
    return setting_value(value.setting(name), key.location, value.location, of_groups=True)


def _settings_schema() -> dict[str, Json]:
    bounds = {name: RANGES.get(config_name, (0, 0)) for name, (config_name, _) in KNOWN_NAMES.items()}
    bounds |= {name: CONNECT_SETTINGS[name][2:] for name in CONNECT_GROUP_ONLY}
    bounds |= {name: of_group[2:] for name, of_group in GROUP_SETTINGS.items()}
    patterns: dict[str, Json] = {
        f"^{name.replace('_', '[._]')}$": _setting_schema(name, *bounds[name]) for name in sorted(bounds)
    }
    patterns[f"^{RELEASE}$"] = {"type": ["string", "number"]}
    return {"type": "object", "patternProperties": patterns, "additionalProperties": False}


def _setting_schema(name: str, low: int, high: int) -> dict[str, Json]:
    if name == "rack_aware_assignment_tags":
        scalar_types: list[Json] = ["string", "number", "boolean", "null"]
        return {"type": [*scalar_types, "array"], "items": {"type": scalar_types}}
    if name == "rack_aware_assignment_strategy":
        return {"type": "string", "pattern": fitting("|".join(RACK_STRATEGIES))}
    return number("integer", r"[+-]?\d{1,30}", minimum=low, maximum=high)


NUMBER = whole(1, MOST_INSTANCES)
TASKS = whole(0, MOST_TASKS)
RECORDS = whole(1, MAX_LONG)
INSTANCES = with_name(
    "instances",
    NAMES.described(
        "One instance or a list of them: process id, its beginning, or host; new instances by the host they were "
        "given; all: all instances that run then."
    ),
)
STATE_LEFT = Codec(
    partial(YamlNode.parse_text, parse=_state_left),
    None,
    {"type": "string", "pattern": fitting(rf"kept|lost|flushed-at\s+(?:{RATE_TEXT})")},
)
TAGS = Codec(_tags, None, {"type": "object", "additionalProperties": TEXT.schema})
TASK_COUNTS = Codec(_task_counts, None, {"type": "object", "minProperties": 1, "additionalProperties": TASKS.schema})
SETTINGS = Codec(_settings, None, _settings_schema())
