"""The version of this program: of the next release while it is being made (CHANGELOG)."""

from importlib.util import find_spec

__version__ = "0.2.0.dev0"

_COMPILED = "kstream_plan.designs.classic.compiled.group_arrays"


def build() -> str:
    """Return ``compiled``, or ``plain Python`` where there was no C compiler at installation."""
    return "plain Python" if find_spec(_COMPILED) is None else "compiled"
