"""Defaults of options that a file or the environment gives, as Typer takes them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from kstream_plan.cli.command_help import COMMANDS, WITHOUT_FILE

#: Under which name a context keeps where the values of the file stand.
_PLACES = "kstream_plan.places"


def option_keys(option: Any) -> list[str]:
    """Return the names of an option in a file: those of the command line without dashes."""
    return [word[2:] for word in option.opts if word.startswith("--")]


def option_variables(option: Any) -> list[str]:
    """Return the environment variables of an option: ``KSTREAM_PLAN_ADD_AT`` for ``--add-at``."""
    return [f"KSTREAM_PLAN_{key.replace('-', '_').upper()}" for key in option_keys(option)]


def take_file(ctx: Any, options: Sequence[Any]) -> None:
    """Let the options of a command have what the file says, if there is one, where nothing beats it.

    Raises:
        UsageError: the file cannot be read, or does not fit the options.
    """
    from kstream_plan.documents.option_defaults import Form, find_defaults  # noqa: PLC0415 - not for help

    file = find_defaults()
    if file is None:
        return
    option_by_key = {key: option for option in options for key in option_keys(option)}
    defaults = file.defaults(ctx.info_name, option_by_key, [name for name in COMMANDS if name not in WITHOUT_FILE])
    ctx.default_map, ctx.meta[_PLACES] = {}, {}
    for default in defaults:
        option = option_by_key[default.key]
        form = Form("" if option.is_flag else option.metavar or "…", option.multiple)
        ctx.default_map[option.name] = default.words(form, os.path.dirname(file.path))
        ctx.meta[_PLACES][option.name] = default.place


def option_source(ctx: Any, option: Any) -> str:
    """Return the variable, or the place in the file, that gives an option its value; empty: neither does."""
    source = ctx.get_parameter_source(option.name)
    if source is not None and source.name == "ENVIRONMENT":
        return next(name for name in option_variables(option) if os.environ.get(name))
    return ctx.meta[_PLACES][option.name] if source is not None and source.name == "DEFAULT_MAP" else ""


def option_texts(ctx: Any, option: Any, source: str) -> list[str]:
    """Return what a file or a variable gives an option, as text; values of ``K=V`` may be secrets."""
    value = os.environ.get(source) or ctx.default_map[option.name]
    texts = value if isinstance(value, list) else [value if isinstance(value, str) else str(value).lower()]
    return [re.sub("=.*", "=…", text) if option.metavar == "K=V" else text for text in texts]
