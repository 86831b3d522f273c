"""Defaults of options in a file: ``kstream-plan.toml``, or ``[tool.kstream-plan]`` in ``pyproject.toml``.

It is looked for in the working directory, then in the folders above it, up to the root of the git checkout; outside of
a checkout only in the working directory, so that a stranger's file in ``/tmp`` decides nothing.
"""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from kstream_plan.documents.option_aliases import ALIASES
from kstream_plan.documents.own_settings import names_path
from kstream_plan.errors import UsageError

#: The name of the file, and the environment variable that names another one.
FILE, FILE_VARIABLE = "kstream-plan.toml", "KSTREAM_PLAN_CONFIG"
_PROJECT, _TOOL = "pyproject.toml", "kstream-plan"
#: The option of which a command's table replaces only the values of the same name.
_BY_NAME = "set"
#: What a value may be, but of a flag.
_VALUES = (str, int, float, datetime.date)
#: Values that are paths, which count from the folder of the file.
_PATHS = re.compile("FILE|DIR|PATH|PLAN")
#: Every option of the commands that read the file, without its dashes.
KEYS = frozenset(
    re.findall(
        r"\S+",
        """
        acceptable-recovery-lag add all application-id as-of as-snapshot baseline bootstrap-server by
        color command-config configmap connect-url debug
        design expect-digest fail-on-changes fail-on-warning for from generation give-up-after
        group instance leader-log leave list max-snapshot-age max-warmup-replicas metrics new
        num-standby-replicas out output policy probing-rebalance-interval quiet remove replay report
        require-generation require-warm restart restore-rate round scenario set sort spark-conf stay
        streams-config task to topology vary verbose where
        """,
    )
)

#: A value as a command line gives it; of a flag whether it is there.
Words: TypeAlias = "bool | str | list[str]"


class Form(NamedTuple):
    """What an option takes: as its help names it (empty: a flag), and whether it may be repeated."""

    metavar: str
    is_repeatable: bool = False


class Default(NamedTuple):
    """What a file says of one option: the key, its value as the file has it, and the place, such as a line."""

    key: str
    value: Any
    place: str

    def words(self, form: Form, folder: str) -> Words:
        """Return the value as a command line gives it; ``folder`` is that of the file.

        Raises:
            UsageError: it is of another type than the option takes.
        """
        value, sample = self.value, f'"{form.metavar}"'
        items = value if isinstance(value, list) else [value]
        if not form.metavar:
            if isinstance(value, bool):
                return value
            problem, sample = "is neither true nor false", "true"
        elif items is value and not form.is_repeatable:
            problem = "is a list, and the option takes one value"
        elif all(isinstance(item, _VALUES) and not isinstance(item, bool) for item in items):
            texts = [_text(item, form.metavar, folder) for item in items]
            return texts if form.is_repeatable else texts[0]
        else:
            problem = "is neither a text nor a number"
        raise UsageError(f"{self.key} {problem}", where=self.place, fix=f"write {self.key} = {sample}")


def _text(value: object, metavar: str, folder: str) -> str:
    text = value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime.date) else str(value)
    name, equals, path = text.partition("=") if "=" in metavar and "=" in text else ("", "", text)
    if not folder or not (_PATHS.search(metavar) or names_path(name)):
        return text
    path = path.strip()
    return text if path == "-" or "://" in path else f"{name}{equals}{os.path.join(folder, path)}"


class DefaultsFile(NamedTuple):
    """A file of defaults: its path from the working directory, its text, what it says, and the table that holds it."""

    path: str
    text: str
    values: Mapping[str, Any]
    table: tuple[str, ...] = ()

    def defaults(self, command: str, keys: Collection[str], commands: Collection[str]) -> list[Default]:
        """Return what it says of the options of a command; its own table beats what holds for every command.

        Raises:
            UsageError: it names an option or a command that does not exist.
        """
        for key, value in self.values.items():
            if key in commands and not isinstance(value, dict):
                fix = f"write its table, [{'.'.join((*self.table, key))}]"
                raise UsageError(f"{key} is a command", where=self._place(key), fix=fix)
            if isinstance(value, dict) and key not in commands:
                is_project = key == "tool" and not self.table
                fix = (
                    "leave out [tool.kstream-plan]: it is for pyproject.toml" if is_project else _nearest(key, commands)
                )
                fix = fix or f"name one of {', '.join(commands)}"
                raise UsageError(f"[{key}] is no command that reads this file", where=self._place(key), fix=fix)
            if not isinstance(value, dict) and key not in KEYS:
                fix = _nearest(key, KEYS) or "write an option of a command without its dashes"
                raise UsageError(f"{key!r} is no option of any command", where=self._place(key), fix=fix)
        command_values = self.values.get(command, {})
        for key in command_values:
            if key not in keys:
                fix = _nearest(key, keys) or f"see kstream-plan {command} --help-all"
                raise UsageError(f"{key!r} is no option of {command}", where=self._place(key, command), fix=fix)
        common = {
            key: value
            for key, value in self.values.items()
            if key in keys and (key not in command_values or key == _BY_NAME)
        }
        return [
            *(Default(key, value, self._place(key)) for key, value in common.items()),
            *(Default(key, value, self._place(key, command)) for key, value in command_values.items()),
        ]

    def _place(self, key: str, *command: str) -> str:
        """Return the file, and the line of a key or of the table of a command, if it stands on one as usual."""
        header, table = tuple[str, ...](), (*self.table, *command)
        for number, line in enumerate(self.text.splitlines(), 1):
            if match := re.match(r"\s*\[([^\[\]]+)\]", line):
                header = tuple(part.strip(" \t\"'") for part in match[1].split("."))
            is_key = header == table and re.match(rf"""\s*["']?{re.escape(key)}["']?\s*=""", line)
            if is_key or (match and header == (*table, key)):
                return f"{self.path}, line {number}"
        return self.path


def _nearest(name: str, names: Collection[str]) -> str:
    """Return how to write the name that was probably meant; empty: none is near."""
    if alias := ALIASES.get(f"--{name.strip('-').replace('_', '-')}"):
        if not alias.option.startswith("--"):
            return "leave it out, and give the file on the command line"
        return f'write {alias.option[2:]} = ["{alias.prefix}…"]'
    matches = get_close_matches(name.lower().replace("_", "-").strip("-"), sorted(names), n=1)
    return f"write {matches[0]}" if matches else ""


def find_defaults(environment: Mapping[str, str] = os.environ) -> DefaultsFile | None:
    """Return the file that counts in the working directory, ``None`` if there is none.

    Raises:
        UsageError: it cannot be read.
    """
    if path := environment.get(FILE_VARIABLE):
        return _read(path)
    try:
        working_directory = Path.cwd()
    except OSError:  # it is gone
        return None
    for folder in _folders(working_directory):
        for name in (FILE, _PROJECT):
            if os.path.lexists(folder / name) and (file := _read(os.path.relpath(folder / name, working_directory))):
                return file
    return None


def _folders(folder: Path) -> Iterator[Path]:
    yield folder
    root = next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), folder)
    yield from (parent for parent in folder.parents if parent.is_relative_to(root))


def _read(path: str) -> DefaultsFile | None:
    """Return what a file says; ``None``: it is a ``pyproject.toml`` that says nothing of this tool."""
    is_project = os.path.basename(path) == _PROJECT
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
        if is_project and _TOOL not in text:
            return None
        import tomllib  # noqa: PLC0415 - few have such a file

        values = tomllib.loads(text)
    except OSError as error:
        fix = "make it a file that you may read, or move it away"
        raise UsageError(f"cannot be read: {error.strerror or error}", where=path, fix=fix) from None
    except (ValueError, RecursionError) as error:
        message = "is no TOML in UTF-8" if isinstance(error, UnicodeError) else f"is no TOML: {error}"
        raise UsageError(message, where=path, fix='write lines such as restore-rate = "5000/s"') from None
    if not is_project:
        return DefaultsFile(path, text, values)
    tools = values.get("tool")
    table = tools.get(_TOOL) if isinstance(tools, dict) else None
    return DefaultsFile(path, text, table, ("tool", _TOOL)) if isinstance(table, dict) else None
