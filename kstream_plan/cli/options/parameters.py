"""A command's options, typed, as the parameters that Typer reads; values that they do not take are usage errors."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from functools import wraps
from inspect import Parameter, Signature
from typing import Annotated, Any, NamedTuple, Never, Self, TypeAlias, TypeVar, dataclass_transform, get_type_hints

import typer

from kstream_plan.documents.own_settings import OF_COMMANDS, names_path, settings_taken
from kstream_plan.documents.quantities import parse_duration, parse_whole_number
from kstream_plan.errors import ConfigError

T = TypeVar("T")


class KeyValue(NamedTuple):
    """The two sides of ``K=V``."""

    key: str
    value: str


class WrongValueError(typer.BadParameter):
    """A value that an option does not take, and how to write it."""

    def __init__(self, message: str, *, fix: str = "") -> None:
        super().__init__(message)
        self.fix = fix


def parser(
    parse: Callable[[str], float], low: float = 0, high: float = math.inf, show: Callable[[float], str] = str
) -> Callable[[str], float]:
    """Return ``parse`` with a range, whose ends it says by ``show``; its errors become usage errors."""

    def parse_number(text: str) -> float:
        try:
            value = parse(text)
        except ValueError as error:
            raise WrongValueError(str(error)) from None
        if not low <= value <= high:
            is_small = value < low
            message = f"{text} is {'below' if is_small else 'above'} {show(low if is_small else high)}"
            raise WrongValueError(
                message, fix=f"give {show(low)} or more" if is_small else f"give at most {show(high)}"
            )
        return value

    return parse_number


def fixable(parse: Callable[[str], T]) -> Callable[[str], T]:
    """Return ``parse``; its errors become usage errors with their fix."""

    def parse_text(text: str) -> T:
        try:
            return parse(text)
        except ConfigError as error:
            raise WrongValueError(error.what, fix=error.fix) from None

    return parse_text


def number_option(text: str, low: float = 0, high: float = math.inf, *, rare: bool = False) -> Any:
    """Return an option that takes a whole number in a range; ``text`` is its help."""
    return typer.Option(parser=parser(parse_whole_number, low, high), metavar="N", hidden=rare, help=text)


def duration_option(text: str) -> Any:
    """Return an option that takes how long ago something may have been, or how long something may take."""
    return typer.Option(parser=parser(parse_duration), metavar="DURATION", help=text)


def key_value(text: str) -> KeyValue:
    """Return the two sides of ``K=V``; else a usage error."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise WrongValueError(f"{text!r} is not K=V", fix="write a name, = and a value")
    return KeyValue(name, value)


def parse_name(text: str) -> str:
    """Return ``text``; a usage error if it is empty."""
    if not text.strip():
        raise WrongValueError("the value is empty", fix="give a name")
    return text


def one_of(choices: Iterable[str], metavar: str | None = None) -> dict[str, Any]:
    """Return the settings of an option that takes one of ``choices``, shown as ``metavar`` where they are many."""
    names = list(choices)

    def parse(text: str) -> str:
        if text not in names:
            raise WrongValueError(f"{text!r} is not one of {', '.join(names)}")
        return text

    return {"parser": parse, "metavar": metavar or f"[{'|'.join(names)}]", "autocompletion": lambda: names}


#: Options of a command line, by name, each with all the words that give it.
OptionWords: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]


class Source(NamedTuple):
    """Where the value of an option is from.

    name, option: the option, as it is called and as it is written; metavar: what it takes.
    place: the line of the file, or the variable.
    texts: the value, or the values.
    """

    name: str
    option: str
    metavar: str
    place: str
    texts: Sequence[str]

    @property
    def words(self) -> set[str]:
        """Words of an error that is about it: the option, and files that it names."""
        if names_path(self.name):
            return {self.option, *(text.partition("=")[2].strip() for text in self.texts)}
        return {self.option, *(self.texts if re.search("FILE|DIR|PATH|PLAN", self.metavar) else ())}


class CommandLine:
    """The command line that runs: the words of its options, its settings, and what a file or the environment gives."""

    option_words: OptionWords = ()
    settings: frozenset[str] = frozenset()
    sources: tuple[Source, ...] = ()


def _setting(text: str) -> Any:
    from kstream_plan.documents.given_settings import parse_setting  # noqa: PLC0415 - not for what shows a saved plan

    return fixable(parse_setting)(text)


def _set_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return what completes a value of ``--set``."""
    names = settings_taken(ctx.command.by_set)  # type: ignore[attr-defined]
    return [text for name in names if (text := f"{name.replace('_', '.')}=").startswith(incomplete)]


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Options:
    """The options of a command, or a group of options that commands share: every annotated attribute is one.

    A command's options have the groups that it takes for bases. To a type checker this is a frozen dataclass; but no
    code is generated for it, which takes longer for the sixty options of a command than to check a small plan.

    An attribute that is annotated with its type alone is no option: ``--set`` gives it, under its name with dots, as
    :data:`kstream_plan.documents.own_settings.OF_COMMANDS` reads it. The options of every command stand here; a group
    that has ``settings`` or ``spark_conf`` as well takes Kafka's settings, or Spark's.

    A group names the ``panel`` in which the help has its options, unless one names another
    (``typer.Option(rich_help_panel=…)``); the rare ones are ``hidden``, and in ``--help-all`` only.
    """

    _panel = ""
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="Show everything, and which defaults count."),
    ] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", hidden=True, help="Show no progress on stderr.")] = False
    debug: Annotated[bool, typer.Option("--debug", hidden=True, help="Show tracebacks and Spark's log.")] = False
    settings: Annotated[
        list[Any] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            parser=_setting,
            autocompletion=_set_names,
        ),
    ] = None
    spark_conf: Annotated[
        list[Any] | None,
        typer.Option(
            "--spark-conf",
            hidden=True,
            metavar="K=V",
            parser=key_value,
            help="Spark setting, e.g. spark.master=spark://host:7077.",
        ),
    ] = None

    def __init_subclass__(cls, *, panel: str = "") -> None:
        cls._panel = panel

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    @property
    def option_words(self) -> OptionWords:
        """The options as they are written on the command line."""
        words: OptionWords = self.__dict__.get("_option_words", ())
        return words

    @property
    def command_line(self) -> Self:
        """The options without what a file or the environment gives: where it makes no sense, that does not count."""
        defaults = {source.name: getattr(type(self), source.name, None) for source in CommandLine.sources}
        return type(self)(**{**vars(self), **defaults})

    def names_given(self, *groups: type[Options]) -> list[str]:
        """Return which options of groups are other than where nothing is given."""
        defaults = ((name, getattr(group, name, None)) for group in groups for name in group.__annotations__)
        return [name for name, default in defaults if getattr(self, name) not in (default, None)]

    def spelling_of(self, name: str) -> str:
        """Return how an option that is given is written: of ``--set`` with the first setting that it gives."""
        if name in ("settings", "spark_conf"):
            setting, *_ = dict(getattr(self, name))
            return f"--set {setting if name == 'spark_conf' else setting.replace('_', '.')}"
        return option_of(name)

    def in_force(self) -> AbstractContextManager[None]:
        """Return the context in which the command runs with these options."""
        return nullcontext()

    def __setattr__(self, name: str, value: object) -> Never:
        raise AttributeError(f"{name!r} cannot be changed: options are what was given")


#: The options of every command.
COMMON = tuple(Options.__annotations__)

Asked = TypeVar("Asked", bound=Options)


#: Parameters that are written otherwise than they are called.
_WRITTEN = {"from_time": "--from", "to_time": "--to", "everything": "--all", "listed": "--list", "settings": "--set"}


def option_of(name: str) -> str:
    """Return how a parameter is written on the command line: ``--set keep.going=true``, ``--set max.rounds``."""
    if name in OF_COMMANDS or name == "stores":
        return f"--set {name.replace('_', '.')}"
    return _WRITTEN.get(name, f"--{name.replace('_', '-')}")


def takes(options_class: type[Asked]) -> Callable[[Callable[[Asked], None]], Callable[..., None]]:
    """Let a command take the options of a class, its own first and then its groups', in the order of the bases.

    The command is called with all of them as one value. What ``--set`` gives is noted in ``by_set``.
    """
    kinds = get_type_hints(options_class, include_extras=True)
    by_set = {name for name, kind in kinds.items() if not hasattr(kind, "__metadata__")}
    kinds |= get_type_hints(Options, include_extras=True)
    panels: dict[str, str] = {}
    for group in options_class.__mro__:
        if issubclass(group, Options):
            for name in vars(group).get("__annotations__", ()):
                panels.setdefault(name, group._panel)
    options = {name: panel for name, panel in panels.items() if hasattr(kinds[name], "__metadata__")}
    parameters = [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=getattr(options_class, name, Parameter.empty),
            annotation=_in_panel(kinds[name], panel),
        )
        for name, panel in options.items()
    ]

    def wrapper(command: Callable[[Asked], None]) -> Callable[..., None]:
        @wraps(command)
        def run(**values: Any) -> None:
            options = options_class(**values, _option_words=CommandLine.option_words)
            with options.in_force():
                command(options)

        run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        run.by_set = by_set  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return wrapper


def _in_panel(kind: Any, panel: str) -> Any:
    """Return an option's type and what Typer reads of it, in this panel unless it has one."""
    [option] = kind.__metadata__
    if not panel or option.rich_help_panel is not None:
        return kind
    option_in_panel = copy(option)  # the same option may be in several groups
    option_in_panel.rich_help_panel = panel
    return Annotated[kind.__origin__, option_in_panel]
