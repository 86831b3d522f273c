"""A file in which an application's or a worker's settings stand, in any of the forms that people have them in."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from kstream_plan.documents.frameworks import plain_settings
from kstream_plan.documents.java_properties import Setting, parse_properties
from kstream_plan.documents.settings_in_yaml import PROFILE, parse_yaml, without_profiles
from kstream_plan.errors import ConfigError
from kstream_plan.snapshots.files.content import SETTINGS_BYTES, decoded, read_file, unzipped_text
from kstream_plan.snapshots.files.kinds import SAVED_PLAN, SNAPSHOT, FileKind, file_kind, naming_other_kinds, other_kind

#: What settings may stand in.
SETTINGS_KINDS = ("a file of settings", "a resource of Kubernetes")
_WANTED = SETTINGS_KINDS[0]
_PROPERTIES_LINE = re.compile(r"^[ \t]*(?![#!])[^\s:=]+[ \t]*=", re.MULTILINE)
_EXPORT = re.compile(r"^[ \t]*export[ \t]+(?=[A-Za-z_]\w*=)", re.MULTILINE)
_OPTION = re.compile(r"(?:-D|--)([\w.-]+\.[\w.-]+)=([^\s\"']*)")
_DEFAULT = re.compile(r"\$\{[^:{}]+:-?([^{}]*)\}")
#: One of a list: with its place in brackets, or behind ``_`` in the environment.
_ITEM = re.compile(r"(?P<name>.+?)(?:\[\d{1,4}\]|(?<=[A-Z])_\d{1,4})")
_QUOTED = re.compile(r"([\"'])(?P<text>.*?)\1\s*(?:#.*)?")
_COMMENT = re.compile(r"\s+#.*")


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


def read_settings(path: str | Path, known: Collection[str], option: str) -> SettingsFile:
    """Read ``.properties``, YAML, or variables of the environment; by suffix, any other by looking.

    The names in ``known``, with ``_`` for ``.``, are found under the prefixes of all frameworks that are known.

    Raises:
        ConfigError: the file cannot be read or parsed; ``option`` is how it was given.
    """
    where, path = str(path), Path(path)
    text = _EXPORT.sub("", _read(path, option))
    data = text.encode("utf-8", "replace")
    kind = file_kind(data)
    if kind in (SNAPSHOT, SAVED_PLAN):  # whose settings would count as the file's own
        raise other_kind(kind, _WANTED, where, ConfigError)
    with naming_other_kinds(data, _WANTED, where):
        if _is_yaml(path, text):
            settings, left_out = parse_yaml(text, where)
        else:
            settings, left_out = without_profiles(_documents(text, where), where)
    written = [each for setting in settings for each in (_unquoted(setting), *_within(setting, where))]
    written = _with_whole_lists(written)
    plain = plain_settings(written, known, where)
    defaults, warnings = _defaults_of_placeholders(plain.settings, where)
    return SettingsFile(defaults, plain.ignored, (*left_out, *plain.warnings, *warnings), kind)


def _read(path: Path, option: str) -> str:
    try:
        data = unzipped_text(read_file(path, SETTINGS_BYTES))
    except OSError as error:
        what = f"cannot read the file: {error.strerror or error}"
        raise ConfigError(what, where=str(path), fix=f"check {option}") from error
    try:
        return decoded(data)
    except UnicodeDecodeError:
        return data.decode("latin-1")  # what java.util.Properties.load(InputStream) takes every file for


def _is_yaml(path: Path, text: str) -> bool:
    if path.suffix.lower() in (".yaml", ".yml"):
        return True
    return path.suffix.lower() != ".properties" and _PROPERTIES_LINE.search(text) is None


def _documents(text: str, where: str) -> list[tuple[int, list[Setting]]]:
    """Return the documents of properties, each with its first line: Spring divides them by ``#---``."""
    settings = parse_properties(text, where)
    if not any(PROFILE.match(setting.name) for setting in settings):
        return [(1, settings)]
    starts = [1, *(number for number, line in enumerate(text.splitlines(), 1) if line.strip() in ("#---", "!---"))]
    ends = [*starts[1:], len(text) + 1]
    return [
        (start, [setting for setting in settings if start <= setting.line < end])
        for start, end in zip(starts, ends, strict=True)
    ]


def _within(setting: Setting, where: str) -> list[Setting]:
    """Return the settings in a value: those of ``SPRING_APPLICATION_JSON``, and of options of a command line."""
    text = " ".join(map(str, setting.value)) if isinstance(setting.value, list) else str(setting.value or "")
    if setting.name.upper() == "SPRING_APPLICATION_JSON":
        inner = parse_yaml(text.strip("'\""), where)[0]
    else:
        inner = [Setting(name, value, setting.line) for name, value in _OPTION.findall(text)]
    return [each._replace(line=setting.line, part=setting.part) for each in inner]


def _unquoted(setting: Setting) -> Setting:
    """Return a variable of the environment without quotes that a shell takes away, and without a comment behind."""
    value = setting.value
    if not isinstance(value, str) or not setting.name.isupper():
        return setting
    quoted = _QUOTED.fullmatch(value.strip())
    return setting._replace(value=_COMMENT.sub("", value) if quoted is None else quoted["text"])


def _with_whole_lists(settings: Sequence[Setting]) -> list[Setting]:
    """Put the items of a list together that stand one by one, as in ``rack.aware.assignment.tags[0]``."""
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


def _defaults_of_placeholders(settings: Sequence[Setting], where: str) -> tuple[list[Setting], list[str]]:
    """Put the defaults of placeholders in their place, with a sentence for each of a setting that is known."""
    plain, warnings = list(settings), []
    for place, setting in enumerate(settings):
        value = setting.value.strip() if isinstance(setting.value, str) and setting.known_as else ""
        default = _innermost_default(value) if value.startswith("${") and value.endswith("}") else value
        if default != value:
            warnings.append(f"{where}, line {setting.line}: {setting.name} is {setting.value}: its default counts")
            plain[place] = setting._replace(value=default)
    return plain, warnings


def _innermost_default(value: str) -> str:
    """Return ``2`` for ``${A:${B:2}}``; the value itself where a placeholder has no default."""
    inner, outer = value, ""
    while inner != outer:
        inner, outer = _DEFAULT.sub(r"\1", inner, count=1), inner
    return value if "${" in inner else inner
