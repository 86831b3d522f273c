"""Answers as pages of text for stdout, and the commands below them: with the snapshot's path and the given options."""

from __future__ import annotations

import glob
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from kstream_plan.cli.options.parameters import Options, OptionWords
from kstream_plan.cli.output import ONE_IN_FULL, OutputForm, Page
from kstream_plan.cli.output import page as page_shape
from kstream_plan.documents.own_settings import OF_COMMANDS
from kstream_plan.fleet.figures import badness
from kstream_plan.model.note import Command
from kstream_plan.plans.python_gc import without_cycle_collector
from kstream_plan.plans.result import Result, result_of
from kstream_plan.render import page as render_page
from kstream_plan.render.answers import page_of, to_json
from kstream_plan.render.terminal import to_terminal
from kstream_plan.render.text.escape import printable
from kstream_plan.snapshots.files.sources import STDIN

if TYPE_CHECKING:
    from kstream_plan.documents.plan.read import SavedPlan

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
    from kstream_plan.cli.options.running import Spark  # noqa: PLC0415
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


def with_commands(page: render_page.Page, command: Command) -> render_page.Page:
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


def with_snapshot(page: render_page.Page, option_words: OptionWords, paths: Sequence[str]) -> render_page.Page:
    """Return a list of snapshots with the command that writes the newest one."""
    words = [word for name, words in option_words if name not in _OF_LISTS for word in words]
    command = shlex.join(["kstream-plan", "snapshot", *words, *paths, "--out", "snapshot.json"])
    is_known = STDIN not in [*words, *paths] and printable(command) == command
    return replace(page, lines=(*page.lines, render_page.Line("next", "make-snapshot", command))) if is_known else page


def with_next(page: render_page.Page, code: str, command: str, source: Input) -> render_page.Page:
    """Return a page with one more command below it."""
    return replace(page, lines=(*page.lines, render_page.Line("next", code, source.command(command))))


@without_cycle_collector()
def answer_text(answer: object, form: OutputForm, page: Page, *, verbose: bool, source: Input = NOT_READ) -> str:
    """Return an answer as text for stdout; ``source`` is where its snapshot was read."""
    return draw_page(with_commands(page_of(answer, verbose=verbose), source.command), form, page)


def draw_page(answer_page: render_page.Page, form: OutputForm, page: Page) -> str:
    """Return a page as text for stdout, as wide as that is."""
    if form is OutputForm.MARKDOWN:
        from kstream_plan.render.markdown import to_markdown  # noqa: PLC0415 - most are shown as tables

        return to_markdown(answer_page)
    return to_terminal(answer_page, width=page.width, colour=page.colour)


def draw_pages(answer_pages: Iterable[render_page.Page], form: OutputForm = OutputForm.TABLE) -> str:
    """Return pages one below the other, as wide as stdout is."""
    shape = page_shape()
    return "\n".join(draw_page(answer_page, form, shape) for answer_page in answer_pages)


def json_lines(answers: Iterable[object], sources: Iterable[Input]) -> str:
    """Return answers as JSON Lines; ``sources`` are where their snapshots were read."""
    pairs = zip(answers, sources, strict=True)
    return "".join(f"{to_json(answer, command=source.command)}\n" for answer, source in pairs)


def answers_text(answers: Iterable[object], sources: Iterable[Input], form: OutputForm) -> str:
    """Return answers one below the other for stdout; ``sources`` are where their snapshots were read."""
    if form is OutputForm.JSON:
        return json_lines(answers, sources)
    pairs = zip(answers, sources, strict=True)
    return draw_pages((with_commands(page_of(answer), source.command) for answer, source in pairs), form)


def overview(results: Sequence[Result], form: OutputForm, page: Page) -> str:
    """Return several applications at a glance, the worst first, as ``fleet`` does."""
    from kstream_plan.render.pages.fleet import fleet_page  # noqa: PLC0415 - not for a single answer

    order = sorted(results, key=badness)
    return draw_page(fleet_page(order, order), form, page)


def join_pages(overviews: Sequence[str], in_full: Sequence[str], form: OutputForm) -> str:
    """Return the overview and what is shown in full as one page, which tells how to see more if that is nothing."""
    hint = ONE_IN_FULL if overviews and not in_full and form is OutputForm.TABLE else ""
    return "\n".join([*overviews, *in_full]) + hint


def saved_page(entries: Sequence[SavedPlan], form: OutputForm, source: Input, *, full: bool, verbose: bool) -> str:
    """Return what was saved as it was shown then."""
    if form is OutputForm.JSON:
        return "".join(_line(entry, full=full) for entry in entries)
    page, results = page_shape(), [result_of(entry.plan, entry.simulation) for entry in entries]
    is_plural = len(entries) > 1
    in_full = (
        sorted(zip(results, entries, strict=True), key=lambda pair: badness(pair[0]))
        if verbose or not is_plural
        else []
    )
    plans = [entry.simulation or entry.plan for _, entry in in_full]
    pages = [answer_text(plan, form, page, verbose=verbose, source=source) for plan in plans]
    return join_pages([overview(results, form, page)] if is_plural else [], pages, form)


def _line(entry: SavedPlan, *, full: bool) -> str:
    return f"{to_json(entry.simulation or entry.plan, full=full)}\n"
