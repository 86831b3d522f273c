"""A file in which an application's or a worker's settings stand, in any of the forms that people have them in."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from kstream_plan.documents.frameworks import identifies, nothing_counts, plain_settings
from kstream_plan.documents.hocon import looks_like_hocon, parse_hocon
from kstream_plan.documents.java_properties import PROPERTIES_LINE, Setting, UnknownValue, parse_properties
from kstream_plan.documents.settings_in_text import looks_like_code, settings_in_text
from kstream_plan.documents.settings_in_yaml import parse_yaml
from kstream_plan.documents.settings_not_read import names_without_value, places_of_more
from kstream_plan.documents.spring_profiles import CONDITION, without_profiles
from kstream_plan.errors import ConfigError
from kstream_plan.snapshots.files.content import SETTINGS_BYTES, decoded, read_file, unzipped_text
from kstream_plan.snapshots.files.kinds import (
    HELM_TEMPLATE,
    SAVED_PLAN,
    SNAPSHOT,
    FileKind,
    file_kind,
    naming_other_kinds,
    other_kind,
)

#: What settings may stand in.
SETTINGS_KINDS = ("a file of settings", "a resource of Kubernetes")
_WANTED = SETTINGS_KINDS[0]
_YAML = (".yaml", ".yml", ".json", ".json5", ".jsonc")
#: In JSON: a text, or a comment.
_JSON_COMMENT = re.compile(r"(\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')|/\*.*?\*/|(?<![:\w/])//[^\n]*", re.DOTALL)
#: How a shell begins a variable; in a batch file of Windows quotes may stand around all of it.
_EXPORT = re.compile(
    r"^[ \t]*(?:export|set)[ \t]+(?:\"([A-Za-z_]\w*=[^\"\n]*)\"[ \t]*\r?$|(?=[A-Za-z_]\w*=))",
    re.MULTILINE | re.IGNORECASE,
)
#: Properties as Java prints them: in one line, in braces.
_PRINTED, _NEXT_PRINTED = re.compile(r"\s*\{([\w.-]+=[^\n]*)\}\s*"), re.compile(r", (?=[\w.-]+=)")
#: What ``kafka-configs --describe`` puts behind a setting; how ``kubectl describe configmap`` prints one.
_SYNONYMS = re.compile(r"[ \t]+sensitive=(?:true|false) synonyms=\{[^\n]*")
_UNDERLINED = re.compile(r"^([\w.-]+):(\r?\n)----\r?\n(?![^\n]*[=:])([^\n]+)$", re.MULTILINE)
_OPTION = re.compile(r"(?:-D|--)([\w.-]+\.[\w.-]+)=([^\s\"']*)")
_DEFAULT = re.compile(r"\$\{[\w.-]+?:?[-:]([^{}]*)\}")
#: What stands for another setting of the file, or another variable of the environment.
_REFERENCE = re.compile(r"\$\{(?P<name>[\w.-]+)\}|\$\((?P<variable>\w+)\)|\$(?P<plain>[A-Z_]+)")
#: In HOCON: it counts as not written where it is not set.
_OPTIONAL = re.compile(r"\$\{\?([\w.-]+)\}")
_MOST_REFERENCES = 5
#: One of a list: with its place in brackets, or behind ``_`` in the environment.
_ITEM = re.compile(r"(?P<name>.+?)(?:\[\d{1,4}\]|(?<=[A-Z])_\d{1,4})")
#: Where an application or a worker logs what it is set to.
_LOGGED = re.compile(r"\b(?:(Streams|Distributed)|\w+)Config values:")
_QUOTED = re.compile(r"([\"'])(?P<text>.*?)\1\s*(?:#.*)?")
_COMMENT = re.compile(r"(?<!\s)\s+#.*")


class SettingsFile(NamedTuple):
    """What stands in a file of settings.

    settings: by Kafka's names, in the order in which they count.
    ignored: those that are known and stand under a prefix that is not.
    warnings: a sentence for each that is known and does not count.
    kind: what the file looks like.
    """

    settings: Sequence[Setting]
    ignored: Sequence[Setting]
    warnings: Sequence[str]
    kind: FileKind | None


class SettingsQuery(NamedTuple):
    """The settings to find in a file.

    known_names: the names that matter, with ``_`` for ``.``.
    identity: the setting by which it is known whose settings they are.
    option: how the file is given.
    other_clients: words, in capitals, that settings begin with which are not the group's.
    """

    known_names: Collection[str]
    identity: str
    option: str
    other_clients: Collection[str] = ()


def read_settings(path: str | Path, query: SettingsQuery) -> SettingsFile:
    """Read settings in any form: by suffix, any other by looking; where none is known, from wherever they may stand.

    The names that are wanted are found under the prefixes of all frameworks that are known.

    Raises:
        ConfigError: the file cannot be read or parsed.
    """
    file_name, path = str(path), Path(path)
    text = _EXPORT.sub(r"\1", _read(path, query.option))
    text = _UNDERLINED.sub(r"\2\2\1=\3", _SYNONYMS.sub("", text))
    if (printed := _PRINTED.fullmatch(text)) is not None:
        text = _NEXT_PRINTED.sub("\n", printed[1])
    if path.suffix.lower().startswith(".json"):
        text = _JSON_COMMENT.sub(lambda match: match[1] or "\n" * match[0].count("\n"), text)
    data = text.encode("utf-8", "replace")
    kind = file_kind(data)
    if kind in (SNAPSHOT, SAVED_PLAN, HELM_TEMPLATE):  # whose settings would count as the file's own
        raise other_kind(kind, _WANTED, file_name, ConfigError)
    try:
        with naming_other_kinds(data, _WANTED, file_name):
            settings, left_out = _parse_settings(path, text, file_name)
    except ConfigError:
        if (file := _scattered(path, text, query, file_name)) is None:
            raise
    else:
        file = _plain(_in_blocks(settings, text), left_out, query, file_name)
        if not any(setting.known_as or identifies(setting, [query.identity]) for setting in file.settings):
            file = _scattered(path, text, query, file_name) or file
    read = [*file.settings, *file.ignored]
    warnings = [*file.warnings, *places_of_more(text, read, file_name)]
    warnings += names_without_value(text, query.known_names, read, warnings, file_name)
    return file._replace(warnings=warnings, kind=kind)


def _parse_settings(path: Path, text: str, file_name: str) -> tuple[list[Setting], list[str]]:
    """Return the settings as they are written, and a sentence for each document that is left out."""
    suffix = path.suffix.lower()
    if suffix in _YAML:
        return parse_yaml(text, file_name)
    if suffix != ".properties":
        if looks_like_code(text) or text.lstrip().startswith("<"):
            return settings_in_text(text), []
        has_equals = PROPERTIES_LINE.search(text) is not None
        if looks_like_hocon(text) or (suffix in (".conf", ".hocon") and has_equals):
            return parse_hocon(text), []
        if not has_equals or text.lstrip().startswith(("{", "[{")):
            return parse_yaml(text, file_name)
    return without_profiles(_documents(text, file_name), file_name)


def _in_blocks(settings: Sequence[Setting], text: str) -> Sequence[Setting]:
    """Tell settings apart that were logged at several starts, or by several instances: if they differ, none counts."""
    begins = [(number, match[1]) for number, line in enumerate(text.splitlines(), 1) if (match := _LOGGED.search(line))]
    if sum(owner is not None for _, owner in begins) < 2:
        return settings
    last = [max((start for start in begins if start[0] <= setting.line), default=(0, None)) for setting in settings]
    return [
        setting._replace(part=f"the values of line {line}") if owner else setting
        for setting, (line, owner) in zip(settings, last, strict=True)
    ]


def _scattered(path: Path, text: str, query: SettingsQuery, file_name: str) -> SettingsFile | None:
    """Return the settings that stand scattered in a text; ``None``: none is known, or its suffix tells another form."""
    is_list = path.suffix.lower() in _YAML and text.lstrip().startswith(("- ", "["))
    if path.suffix.lower() in (*_YAML, ".properties") and not is_list:
        return None
    file = _plain(settings_in_text(text), [], query, file_name)
    if any(setting.known_as for setting in file.settings):
        return file
    if file.ignored:
        raise nothing_counts(file.ignored, file_name)
    for warning in file.warnings:
        location, _, message = warning.partition(": ")
        raise ConfigError(message.rpartition(": ")[0], where=location, fix=message.rpartition(": ")[2])
    return None


def _plain(
    written_settings: Sequence[Setting], left_out: Sequence[str], query: SettingsQuery, file_name: str
) -> SettingsFile:
    """Return settings by Kafka's names, with the values of their placeholders."""
    whole = _with_whole_lists(
        [
            inner_setting
            for setting in written_settings
            for inner_setting in (_unquoted(setting), *_settings_in_value(setting, file_name))
        ]
    )
    plain = plain_settings(whole, query.known_names, file_name, query.identity, query.other_clients)
    settings, warnings = _without_placeholders(plain.settings, file_name)
    settings, unknown_warnings = _without_unknown(settings, file_name)
    return SettingsFile(settings, plain.ignored, (*left_out, *plain.warnings, *warnings, *unknown_warnings), None)


def _read(path: Path, option: str) -> str:
    try:
        data = unzipped_text(read_file(path, SETTINGS_BYTES))
    except OSError as error:
        problem = f"cannot read the file: {error.strerror or error}"
        raise ConfigError(problem, where=str(path), fix=f"check {option}") from error
    try:
        return decoded(data)
    except UnicodeDecodeError:
        return data.decode("latin-1")  # what java.util.Properties.load(InputStream) takes every file for


def _documents(text: str, file_name: str) -> list[tuple[int, list[Setting]]]:
    """Return the documents of properties, each with its first line: Spring divides them by ``#---``."""
    settings = parse_properties(text, file_name)
    if not any(CONDITION.fullmatch(setting.name) for setting in settings):
        return [(1, settings)]
    starts = [1, *(number for number, line in enumerate(text.splitlines(), 1) if line.strip() in ("#---", "!---"))]
    ends = [*starts[1:], len(text) + 1]
    return [
        (start, [setting for setting in settings if start <= setting.line < end])
        for start, end in zip(starts, ends, strict=True)
    ]


def _settings_in_value(setting: Setting, file_name: str) -> list[Setting]:
    """Return the settings in a value: those of ``spring.application.json``, and of options of a command line."""
    text = " ".join(map(str, setting.value)) if isinstance(setting.value, list) else str(setting.value or "")
    if setting.name.upper().replace(".", "_") == "SPRING_APPLICATION_JSON":
        inner = parse_yaml(text.strip("'\""), file_name)[0]
    else:
        inner = [Setting(name, value, setting.line) for name, value in _OPTION.findall(text)]
    return [inner_setting._replace(line=setting.line, part=setting.part) for inner_setting in inner]


def _unquoted(setting: Setting) -> Setting:
    """Return a variable of the environment without quotes that a shell takes away, and without a comment behind."""
    value = setting.value
    if not isinstance(value, str) or not setting.name.isupper():
        return setting
    quoted = _QUOTED.fullmatch(value.strip())
    return setting._replace(value=_COMMENT.sub("", value) if quoted is None else quoted["text"])


def _with_whole_lists(settings: Sequence[Setting]) -> list[Setting]:
    """Join the items of a list that are set one by one, as ``rack.aware.assignment.tags[0]``."""
    lists: dict[tuple[str, str], list[str]] = {}
    whole: list[Setting] = []
    for setting in settings:
        match = _ITEM.fullmatch(setting.name)
        if match is None or (setting.name[-1] != "]" and not setting.name.isupper()):
            whole.append(setting)
            continue
        key = (match["name"], setting.part)
        if key not in lists:
            lists[key] = []
            whole.append(setting._replace(name=match["name"], value=lists[key]))
        lists[key].append(str(setting.value))
    return whole


def _without_placeholders(settings: Sequence[Setting], file_name: str) -> tuple[list[Setting], list[str]]:
    """Replace placeholders by their values, or by their defaults with a sentence for each."""
    plain: list[Setting] = []
    warnings = []
    for setting in settings:
        raw_value = setting.value.strip() if isinstance(setting.value, str) and setting.known_as else ""
        value = _resolved(raw_value, settings)
        if _OPTIONAL.fullmatch(value):
            warnings.append(f"{file_name}, line {setting.line}: {setting.name} is {value}: taken as unset")
            continue
        default = _innermost_default(value) if value.startswith("${") and value.endswith("}") else value
        if default != value:
            warnings.append(f"{file_name}, line {setting.line}: {setting.name} is {setting.value}: its default counts")
        plain.append(setting._replace(value=default) if default != raw_value else setting)
    return plain, warnings


def _resolved(value: str, settings: Sequence[Setting]) -> str:
    """Return the value of the setting or variable that a placeholder names, if the file has it."""
    for _ in range(_MOST_REFERENCES):
        match = _REFERENCE.fullmatch(value)
        name = next(filter(None, match.groups()), "") if match is not None else ""
        values = [str(setting.value).strip() for setting in settings if name and setting.name == name]
        if not values:
            break
        value = values[-1]
    return value


def _without_unknown(settings: Sequence[Setting], file_name: str) -> tuple[list[Setting], list[str]]:
    """Leave out the settings whose value is not in the file, with a sentence for each that is known."""
    last = {setting.key: setting for setting in settings}
    unknown_settings = {key: setting for key, setting in last.items() if isinstance(setting.value, UnknownValue)}
    warnings = [
        f"{file_name}, line {setting.line}: {setting.name} is unknown, and not taken from this file: it is from "
        f"{setting.value.source}: {setting.value.fix}"
        for setting in unknown_settings.values()
        if setting.known_as and isinstance(setting.value, UnknownValue)
    ]
    return [
        setting
        for setting in settings
        if setting.key not in unknown_settings and not isinstance(setting.value, UnknownValue)
    ], warnings


def _innermost_default(value: str) -> str:
    """Return ``2`` for ``${A:${B:2}}``; the value itself where a placeholder has no default."""
    inner, outer = value, ""
    while inner != outer:
        inner, outer = _DEFAULT.sub(r"\1", inner, count=1), inner
    return value if "${" in inner else inner
