"""The version of this program: of the next release while it is being made (CHANGELOG)."""

from importlib.util import find_spec

__version__ = "0.2.0.dev0"

_COMPILED = "kstream_plan.engine.copies"


def build() -> str:
    """Return ``compiled``, or ``plain Python`` where there was no C compiler at installation."""
    module = find_spec(_COMPILED)
    return "plain Python" if module is None or str(module.origin).endswith(".py") else "compiled"
