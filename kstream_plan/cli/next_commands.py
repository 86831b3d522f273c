"""The commands below an answer, with the snapshot's path and the options that were given."""

from __future__ import annotations

import glob
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from kstream_plan.cli.options.parameters import Options, OptionWords
from kstream_plan.cli.options.running import Spark
from kstream_plan.documents.own_settings import OF_COMMANDS
from kstream_plan.model.note import Command
from kstream_plan.render.page import Line, Page
from kstream_plan.render.text.escape import printable
from kstream_plan.snapshots.files.sources import STDIN

#: What stands for the snapshot's path in a command.
_PLACEHOLDER = "SNAPSHOT"
#: Commands that take one path only.
_ONE_PATH = ("kstream-plan why ", "kstream-plan drain ")


def _names(*groups: type[Options]) -> frozenset[str]:
    return frozenset(
        name
        for group in groups
        for parent in group.__mro__
        if parent is not Options
        for name in vars(parent).get("__annotations__", ())
    )


@cache
def _kept_options(command: str) -> frozenset[str]:
    """Return the options on which the answer of a command depends; none: it plans no snapshot."""
    # all option groups: what shows a saved plan needs none of them
    from kstream_plan.cli.options.groups import Deciding, Following, Measuring, Reading  # noqa: PLC0415
    from kstream_plan.cli.options.settings import Settings  # noqa: PLC0415
    from kstream_plan.cli.options.simulation import NewInstances  # noqa: PLC0415

    new_instances = _names(NewInstances) | {"draws"}
    target = _names(Following)
    only_here: Mapping[str, frozenset[str]] = {
        "bounce": target | {"restart"},
        **dict.fromkeys(("simulate-scaleout", "check"), new_instances | target),
        "compare": new_instances | target | {"policy", "clock"},
        "drain": target | {"leave"},
        "simulate": target,
        **dict.fromkeys(("assign", "why"), frozenset[str]()),
    }
    if command not in only_here:
        return frozenset()
    return only_here[command] | _names(Reading, Measuring, Settings, Deciding, Spark) | {"as_of", "now"}


class Input(NamedTuple):
    """Where the snapshot of an answer was read.

    paths: as they were given; empty, or with standard input among them: no command finds it again.
    application_id: the application, where others are there too; ``None``: it is the only one.
    option_words: the options that were given.
    is_plan: they are of a saved plan, which does not know its snapshot: what needs that shows the plan in full instead.
    """

    paths: tuple[str, ...] = ()
    application_id: str | None = None
    option_words: OptionWords = ()
    is_plan: bool = False

    def command(self, text: str) -> str:
        """Return a command with the paths and options, so that it can be copied, where it is known what was read."""
        if not self.paths or STDIN in self.paths or (len(self.paths) > 1 and text.startswith(_ONE_PATH)):
            return text
        text = f"kstream-plan show {_PLACEHOLDER} -v" if self.is_plan and _PLACEHOLDER in text else text
        paths = [f"./{path}" if path.startswith("-") else path for path in self.paths]
        option = [] if self.application_id is None else ["--application-id", glob.escape(self.application_id)]
        command = text.replace(_PLACEHOLDER, shlex.join([*paths, *option]), 1)
        if _PLACEHOLDER in text and (options := _kept_words(text, self.option_words)):
            command = f"{command} {shlex.join(options)}"
        return command if printable(command) == command else text


#: Where the snapshot was read is unknown.
NOT_READ = Input()


def input_of(paths: Sequence[str], application_id: str, *, is_plural: bool, option_words: OptionWords = ()) -> Input:
    """Return where an application was read, and how it was asked about; ``is_plural``: there may be others."""
    return Input(tuple(paths), application_id if is_plural else None, option_words)


def inputs_of(
    paths: Sequence[str], application_ids: Iterable[str], option_words: OptionWords = (), *, is_selection: bool = False
) -> list[Input]:
    """Return where each application was read; ``is_selection``: only some of those that are there are named."""
    names = list(application_ids)
    is_plural = is_selection or len(names) > 1
    return [input_of(paths, name, is_plural=is_plural, option_words=option_words) for name in names]


def with_commands(page: Page, command: Command) -> Page:
    """Return a page whose commands are completed, such as by :meth:`Input.command`; its JSON has the same.

    Plans in JSON, printed or saved, keep ``SNAPSHOT`` instead: they are read again elsewhere, where this machine's path
    is wrong, and the same input and options give the same bytes, whatever the file is called.
    """
    lines = (line._replace(text=command(line.text)) if line.kind == "next" else line for line in page.lines)
    return replace(page, lines=tuple(lines))


def _kept_words(text: str, option_words: OptionWords) -> list[str]:
    """Return the options that were given and that the command takes, unless it names them, or varies them."""
    if not option_words:
        return []
    takes = _kept_options(text.split()[1])
    names_of_command = {_plain_name(word) for word in text.split() if word.startswith("--") or "=" in word}
    if not names_of_command.isdisjoint(("add", "remove")):
        takes -= {"add", "to", "remove"}
    single = [
        (name, item)
        for name, words in option_words
        for item in (zip(words[::2], words[1::2], strict=True) if name == "settings" else [words])
    ]
    return [
        word
        for name, words in single
        if _own_name(name, words) in takes and _plain_name(words[words[0] == "--set"]) not in names_of_command
        for word in words
    ]


def without_setting(words: Sequence[str], name: str) -> tuple[str, ...]:
    """Return the words of ``--set`` without those of one setting."""
    pairs = zip(words[::2], words[1::2], strict=True)
    return tuple(word for option, text in pairs if text.partition("=")[0].strip() != name for word in (option, text))


def _own_name(name: str, words: Sequence[str]) -> str:
    """Return the option, or what ``--set`` gives a command in the place of one."""
    key = words[1].partition("=")[0].strip().replace(".", "_") if name == "settings" else name
    return key if key in OF_COMMANDS else name


def _plain_name(word: str) -> str:
    """Return the name in ``--max-warmup-replicas`` or ``max.warmup.replicas=2``, in one spelling."""
    return word.partition("=")[0].removesuffix(".ms").lstrip("-").replace("-", ".").replace("_", ".")


def lags_command(paths: Sequence[str], application_ids: Sequence[str]) -> Command:
    """Return what puts the lag rows that were given into a command."""
    names = [word for name in application_ids for word in ("--application-id", name)]
    words = shlex.join([*paths, *names])
    is_known = STDIN not in paths and printable(words) == words
    return lambda text: text.replace("LAGS", words) if is_known else text


#: Options of ``snapshot`` that go with ``--list``, and not with a single snapshot.
_OF_LISTS = ("listed", "from_time", "to_time", "everything")


def with_snapshot(page: Page, option_words: OptionWords, paths: Sequence[str]) -> Page:
    """Return a list of snapshots with the command that writes the newest one."""
    words = [word for name, words in option_words if name not in _OF_LISTS for word in words]
    command = shlex.join(["kstream-plan", "snapshot", *words, *paths, "--out", "snapshot.json"])
    is_known = STDIN not in [*words, *paths] and printable(command) == command
    return replace(page, lines=(*page.lines, Line("next", "make-snapshot", command))) if is_known else page


def with_next(page: Page, code: str, command: str, source: Input) -> Page:
    """Return a page with one more command below it."""
    return replace(page, lines=(*page.lines, Line("next", code, source.command(command))))
