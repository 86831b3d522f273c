"""The help of a command: its options in panels, the rare ones only if all are asked for."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperOption

from kstream_plan.cli.command_help import WITHOUT_FILE
from kstream_plan.cli.options.defaults import (
    option_source,
    option_sources,
    option_variables,
    take_file,
    take_settings,
)
from kstream_plan.cli.options.parameters import CommandLine
from kstream_plan.cli.output import MODES, set_color_mode
from kstream_plan.documents.option_aliases import ModernWords, modern_words
from kstream_plan.documents.own_settings import OwnSetting, settings_taken
from kstream_plan.errors import UsageError

#: The panels, in order, below a command's own options: what more than one command has.
PANELS = INSTANCES, INPUT, SETTINGS, PLANNING, OUTPUT = (
    "Who joins, who stops",
    "Input",
    "Settings",
    "Planning",
    "Output",
)

#: The base class of every wrong usage, under the name by which each release of Typer has it.
USAGE_ERRORS: tuple[type[Exception], ...] = typer.BadParameter.__bases__

_ARGUMENTS, _OWN = "Arguments", "Options"
#: In which panels options of every command are.
_PANEL_OF = {"settings": SETTINGS, "spark_conf": INPUT, **dict.fromkeys(("verbose", "quiet", "debug"), OUTPUT)}
#: Beginnings of what ``--set`` gives whatever reads.
_OF_READING = ("java.home=", "max.text=", "timeout=")
#: The widest that help is written.
_WIDTH = 100
#: The widest option that has its text beside it, not below.
_WIDEST_NAME = 30


class PanelledCommand(TyperCommand):
    """A command whose ``--help`` leaves out the options that are declared ``hidden``; ``--help-all`` has them as well.

    Errors and completion know all of them.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.context_settings.setdefault("max_content_width", _WIDTH)
        self.params.append(_color())
        for option in self._options:
            if option.name == "settings":
                option.hidden = not self.by_set
                option.help = f"Any setting, e.g. {self._usual_setting}."
            option.rich_help_panel = _PANEL_OF.get(option.name, option.rich_help_panel)
            option.envvar, option.show_envvar = option_variables(option), False
            option.type.envvar_list_splitter = None  # blanks, also of paths
        self.params.append(_help_all())

    @property
    def by_set(self) -> Collection[str]:
        """What ``--set`` gives the command; ``settings`` among them: also settings of applications."""
        names: Collection[str] = getattr(self.callback, "by_set", ())
        return names

    @property
    def _useless(self) -> Collection[str]:
        """Options of every command that do not count in this one."""
        return [*([] if self.by_set else ["settings"]), *([] if "spark_conf" in self.by_set else ["spark_conf"])]

    @property
    def _own_settings(self) -> list[tuple[str, OwnSetting]]:
        settings = settings_taken(self.by_set)
        return sorted((f"{name.replace('_', '.')}={settings[name].sample}", settings[name]) for name in settings)

    @property
    def _usual_setting(self) -> str:
        """Values of ``--set`` that the command takes, or one, of its own before what it shares with all that read."""
        if "settings" in self.by_set:
            return "session.timeout.ms=30s or stores=persistent"
        samples = [text for text, _ in self._own_settings]
        return next((text for text in samples if not text.startswith(_OF_READING)), next(iter(samples), ""))

    @property
    def _options(self) -> list[Any]:
        return [item for item in self.params if isinstance(item, TyperOption) and item.name != "help_all"]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, and note which options are given as which words, or by a file or the environment.

        If the command is verbose, say what those give it.
        """
        (words, warnings), options = self.modern_words(args), self._options
        if warnings:
            from kstream_plan.cli.output import warn  # noqa: PLC0415 - not for help

            warn(warnings)
        CommandLine.sources = ()
        if self.name not in WITHOUT_FILE and not ctx.resilient_parsing and not {"--help", "--help-all"} & set(words):
            take_file(ctx, options)
        rest: list[str] = super().parse_args(ctx, list(words))
        values = self.make_parser(ctx).parse_args(list(words))[0]
        CommandLine.option_words = tuple(
            (item.name, _words(item.opts[0], values[item.name])) for item in options if item.name in values
        )
        CommandLine.sources = tuple(option_sources(ctx, options))
        take_settings(ctx, options, values, self.by_set)
        if "spark_conf" not in self.by_set and ctx.params.pop("spark_conf", None) and "spark_conf" in values:
            raise UsageError("this command starts no Spark", where="--spark-conf", fix="leave it out")
        if ctx.params.get("verbose") and not ctx.resilient_parsing:
            from kstream_plan.cli.output import write_stderr  # noqa: PLC0415 - not for help

            for source in CommandLine.sources:
                write_stderr(f"note: {source.option} {' '.join(source.texts)} from {source.place}")
        return rest

    def modern_words(self, words: Sequence[str]) -> ModernWords:
        """Return words of the command line with today's names of options, and a warning for each old one."""
        arguments = {str(item.name) for item in self.params if item.param_type_name == "argument"}
        return modern_words(words, arguments.union(*(item.opts for item in self._options if not item.is_flag)))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options panel by panel, then how many more there are."""
        panels: dict[str, list[tuple[str, str]]] = {panel: [] for panel in (_ARGUMENTS, _OWN, *PANELS)}
        hidden_count = 0
        for parameter in self.get_params(ctx):
            if parameter.name in self._useless:
                continue
            record = parameter.get_help_record(ctx)
            if record is None:
                hidden_count += 1
            else:
                panels[_panel(parameter)].append(record)
        width = max(len(name) for records in panels.values() for name, _ in records if len(name) <= _WIDEST_NAME)
        for panel, records in panels.items():
            if records:
                with formatter.section(panel):
                    formatter.write_dl(
                        [(name.ljust(width), description) for name, description in records], col_max=width
                    )
        if hidden_count <= 1 and (settings := self._own_settings):
            with formatter.section("Values of --set" + " besides Kafka's settings" * ("settings" in self.by_set)):
                formatter.write_dl([(name.ljust(width), setting.text) for name, setting in settings], col_max=width)
        if hidden_count > 1:
            formatter.write(f"\n{hidden_count - 1} more options: {ctx.command_path} --help-all\n")

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return what completes ``incomplete``, hidden options as well."""
        self.reveal()
        return super().shell_complete(ctx, incomplete)

    def reveal(self) -> None:
        """Hide no option any more."""
        for parameter in self.params:
            if isinstance(parameter, TyperOption):
                parameter.hidden = False


def _words(option: str, value: Any) -> tuple[str, ...]:
    """Return the words that give an option this value, or these values."""
    if isinstance(value, list):
        return tuple(word for item in value for word in (option, item))
    return (option, value) if isinstance(value, str) else (option,)


def _panel(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return _ARGUMENTS
    return getattr(parameter, "rich_help_panel", None) or _OWN


def color_option() -> Any:
    """Return the option ``--color`` as Typer reads it: the program takes it, and every command."""
    return typer.Option("--color", callback=_set_color, envvar="KSTREAM_PLAN_COLOR", show_envvar=False, **_COLOR)


def _set_color(mode: str | None) -> None:
    if mode is None:
        return
    if mode not in MODES:
        raise typer.BadParameter(f"{mode!r} is not one of {', '.join(MODES)}")
    set_color_mode(mode)


def _set_color_of_command(ctx: Any, option: Any, mode: str | None) -> None:
    """Set what a command's own ``--color`` says; its default does not beat the program's."""
    if not (option_source(ctx, option) and ctx.parent and ctx.parent.params.get("color")):
        _set_color(mode)


#: Colour is set before anything is shown.
_COLOR: dict[str, Any] = {
    "metavar": f"[{'|'.join(MODES)}]",
    "is_eager": True,
    "help": "Colour on stdout (default: auto, on a terminal without NO_COLOR).",
}


def _color() -> TyperOption:
    return TyperOption(
        param_decls=["--color"],
        type=str,
        expose_value=False,
        rich_help_panel=OUTPUT,
        hidden=True,
        callback=_set_color_of_command,
        autocompletion=lambda _ctx, _args, start: [mode for mode in MODES if mode.startswith(start)],
        **_COLOR,
    )


def _help_all() -> TyperOption:
    return TyperOption(
        param_decls=["--help-all"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        default=False,
        callback=_show_all,
        help="Show every option and exit.",
        hidden=True,
    )


def _show_all(ctx: Any, _: Any, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.command.reveal()
        typer.echo(ctx.get_help())
        raise typer.Exit
