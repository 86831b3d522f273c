"""Defaults of options that a file or the environment gives, as Typer takes them."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import typer

from kstream_plan.cli.command_help import COMMANDS, WITHOUT_FILE
from kstream_plan.cli.options.parameters import CommandLine, Source
from kstream_plan.documents.option_aliases import ALIASES
from kstream_plan.documents.own_settings import OF_COMMANDS, settings_taken
from kstream_plan.errors import UsageError

#: Under which name a context keeps where the values of the file stand, and what it gives ``--set``, with the place.
_PLACES, _SETTINGS_OF_FILE = "kstream_plan.places", "kstream_plan.settings"
#: The option whose values count name by name.
_SETTINGS = "settings"
#: From where a value is, a stronger source after the weaker one.
_STRENGTH = ("DEFAULT", "DEFAULT_MAP", "ENVIRONMENT", "COMMANDLINE")


def option_keys(option: Any) -> list[str]:
    """Return the names of an option in a file: those of the command line without dashes."""
    return [word[2:] for word in option.opts if word.startswith("--")]


def option_variables(option: Any) -> list[str]:
    """Return the environment variables of an option: ``KSTREAM_PLAN_AS_OF`` for ``--as-of``."""
    return list(map(_variable, option_keys(option)))


def _variable(key: str) -> str:
    return f"KSTREAM_PLAN_{key.replace('-', '_').upper()}"


def take_file(ctx: Any, options: Sequence[Any]) -> None:
    """Let the options of a command have what the file says, if there is one, where nothing beats it.

    Raises:
        UsageError: the file cannot be read, or does not fit the options; a variable has the name of an old option.
    """
    from kstream_plan.documents.option_defaults import Form, find_defaults  # noqa: PLC0415 - not for help

    _refuse_old_variables(ctx, options)
    file = find_defaults()
    if file is None:
        return
    option_by_key = {key: option for option in options for key in option_keys(option)}
    prefixes, readers = _options_of_others(ctx), [name for name in COMMANDS if name not in WITHOUT_FILE]
    defaults = file.defaults(ctx.info_name, [*option_by_key, *prefixes], readers)
    ctx.default_map, ctx.meta[_PLACES], ctx.meta[_SETTINGS_OF_FILE] = {}, {}, []
    for default in defaults:
        if prefix := prefixes.get(default.key):
            ctx.meta[_SETTINGS_OF_FILE].append((default.place, [f"{prefix}{default.words(Form('VALUE'), '')}"]))
            continue
        option = option_by_key[default.key]
        form = Form("" if option.is_flag else option.metavar or "…", option.multiple)
        words = default.words(form, os.path.dirname(file.path))
        if option.name == _SETTINGS:
            ctx.meta[_SETTINGS_OF_FILE].append((default.place, words))
        else:
            ctx.default_map[option.name], ctx.meta[_PLACES][option.name] = words, default.place


def _options_of_others(ctx: Any) -> dict[str, str]:
    """Return the settings, as ``NAME=``, that have options in other commands and in this one ``--set``, by the option.

    A file or a variable that gives such an option is meant for this command as well.
    """
    from kstream_plan.documents.option_defaults import KEYS  # noqa: PLC0415 - not for help

    prefixes = {old[2:]: alias.prefix for old, alias in ALIASES.items() if old[2:] in KEYS}
    return {key: prefix for key, prefix in prefixes.items() if key.replace("-", "_") in ctx.command.by_set}


def _refuse_old_variables(ctx: Any, options: Sequence[Any]) -> None:
    from kstream_plan.documents.option_defaults import KEYS  # noqa: PLC0415 - not for help

    names = {f"--{key}" for option in options for key in option_keys(option)}
    names.update(str(item.name) for item in ctx.command.params)
    for old, alias in ALIASES.items():
        variable = _variable(old[2:])
        if old[2:] in KEYS or alias.option not in names or not os.environ.get(variable):
            continue
        if not alias.option.startswith("--"):
            fix = "unset it, and give the file on the command line"
        elif alias.is_implied:
            fix = "unset it"
        else:
            fix = f"write {_variable(alias.option[2:])}='{alias.prefix}{alias.value or '…'}'"
        raise UsageError(f"{variable} is the variable of an old option", fix=fix)


def option_source(ctx: Any, option: Any) -> str:
    """Return the variable, or the place in the file, that gives an option its value; empty: neither does."""
    source = ctx.get_parameter_source(option.name)
    places = ctx.meta.get(_PLACES, {})
    if source is not None and source.name == "ENVIRONMENT":
        variable = next((name for name in option_variables(option) if os.environ.get(name)), "")
        return places.get(option.name, variable) if option.name == _SETTINGS else variable
    return places[option.name] if source is not None and source.name == "DEFAULT_MAP" else ""


def option_sources(ctx: Any, options: Sequence[Any]) -> Iterator[Source]:
    """Yield where the values are from that a file or the environment gives."""
    for option in options:
        if place := option_source(ctx, option):
            key, texts = option_keys(option)[0], _texts(ctx, option, place)
            yield Source(option.name, f"--{key}", option.metavar or "", place, texts)


class _Layer(NamedTuple):
    """What one source gives ``--set``: whose it is, as Typer calls it, its place, and ``NAME=VALUE``."""

    source: str
    place: str
    texts: Sequence[str]


def take_settings(ctx: Any, options: Sequence[Any], words: Mapping[str, Any], by_set: Collection[str]) -> None:
    """Let a setting of ``--set`` count unless a stronger source gives it too, also in an option of its own.

    ``words`` are those of the command line, by option; ``by_set`` is what the command takes so. What it does not take
    is passed over where a file or the environment gives it, for other commands.

    Raises:
        typer.BadParameter: a value is wrong, one source gives a setting twice, or the command line one too many.
    """
    CommandLine.settings = frozenset()
    option = next((option for option in options if option.name == _SETTINGS), None)
    if option is None or ctx.resilient_parsing:
        return
    place = next((name for name in option_variables(option) if os.environ.get(name)), "")
    layers = [
        *(_Layer("DEFAULT_MAP", *words) for words in ctx.meta.get(_SETTINGS_OF_FILE, ())),
        *(
            _Layer("ENVIRONMENT", variable, [f"{prefix}{os.environ[variable]}"])
            for key, prefix in _options_of_others(ctx).items()
            if os.environ.get(variable := _variable(key))
        ),
        _Layer("ENVIRONMENT", place, option.value_from_envvar(ctx) or ()),
        _Layer("COMMANDLINE", "", words.get(_SETTINGS, ())),
    ]
    settings, sources = {}, {source.name: source for source in CommandLine.sources if source.name != _SETTINGS}
    for layer in layers:
        names = set()
        for text in layer.texts:
            setting = _setting(ctx, option, layer, text)
            field = setting.name.removesuffix("_ms")
            if not _is_taken(ctx, option, layer, text, field, by_set):
                continue
            own_option = ctx.get_parameter_source(field)
            strength = _STRENGTH.index(own_option.name) if own_option else 0
            if setting.name in names or _STRENGTH[strength] == layer.source:
                duplicate = typer.BadParameter(f"{text.partition('=')[0]} is given twice")
                raise _with_place(duplicate, ctx, option, "give it once")
            names.add(setting.name)
            if strength > _STRENGTH.index(layer.source):
                continue
            if field in ctx.params or field in by_set:
                ctx.params[field] = setting.value
            else:
                settings[setting.name] = setting
            sources.pop(field, None)
            if layer.place:
                sources[field] = Source(field, "--set", option.metavar, layer.place, [text])
        if layer.source == "COMMANDLINE":
            CommandLine.settings = frozenset(names)
    ctx.params[_SETTINGS] = list(settings.values()) or None
    CommandLine.sources = tuple(sources.values())


def _is_taken(ctx: Any, option: Any, layer: _Layer, text: str, field: str, by_set: Collection[str]) -> bool:
    """Return True if the command takes a setting; an error says if the command line gives one that it does not."""
    if field in by_set or field in ctx.params or ("settings" in by_set and field not in OF_COMMANDS):
        return True
    if layer.source != "COMMANDLINE":
        return False
    names_taken = [name.replace("_", ".") for name in settings_taken(by_set)]
    fix = f"write one of {', '.join(names_taken)}, or leave it out" if names_taken else "leave it out"
    error = typer.BadParameter(f"{text.partition('=')[0]!r} is no setting of this command")
    raise _with_place(error, ctx, option, fix)


def _setting(ctx: Any, option: Any, layer: _Layer, text: str) -> Any:
    """Return what a text gives ``--set``; an error says where it stands."""
    ctx.set_parameter_source(option.name, type(ctx.get_parameter_source(option.name))[layer.source])
    ctx.meta.setdefault(_PLACES, {})[option.name] = layer.place
    try:
        return option.process_value(ctx, [text])[0]
    except typer.BadParameter as error:
        raise _with_place(error, ctx, option) from None


def _with_place(error: Any, ctx: Any, option: Any, fix: str = "") -> Any:
    error.ctx, error.param, error.fix = ctx, option, fix or error.fix
    return error


def _texts(ctx: Any, option: Any, source: str) -> list[str]:
    """Return what a file or a variable gives an option, as text; values of ``K=V`` may be secrets."""
    value = os.environ.get(source) or ctx.default_map[option.name]
    texts = value if isinstance(value, list) else [value if isinstance(value, str) else str(value).lower()]
    return [re.sub("=.*", "=…", text) if option.metavar == "K=V" else text for text in texts]
