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
    """Return a variable of the environment without the quotes that a shell takes away."""
    value = setting.value
    if isinstance(value, str) and setting.name.isupper() and len(value) > 1 and value[0] == value[-1] in "\"'":
        return setting._replace(value=value[1:-1])
    return setting


def _defaults_of_placeholders(settings: Sequence[Setting], where: str) -> tuple[list[Setting], list[str]]:
    """Put the defaults of placeholders in their place, with a sentence for each of a setting that is known."""
    plain, warnings = list(settings), []
    for place, setting in enumerate(settings):
        match = _DEFAULT.fullmatch(setting.value.strip()) if isinstance(setting.value, str) else None
        if match and setting.known_as:
            warnings.append(f"{where}, line {setting.line}: {setting.name} is {setting.value}: its default counts")
            plain[place] = setting._replace(value=match[1])
    return plain, warnings
