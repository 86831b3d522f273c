"""Reading target files, and writing them into ConfigMaps."""

from __future__ import annotations

from pathlib import Path

from kstream_plan.assignors.planned.target_file import MAX_BYTES
from kstream_plan.errors import ConfigError


def target_content(path: Path) -> bytes:
    """Return what is in a target file; of one that is too large only so much that this shows.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        what = f"cannot read the file: {error.strerror or error}"
        raise ConfigError(what, where=str(path), fix="check the path") from error


def config_map(name: str, text: str) -> str:
    """Return a Kubernetes ConfigMap of this name that holds a target file, as YAML."""
    lines = "".join(f"    {line}\n" for line in text.removesuffix("\n").split("\n"))
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  target.properties: |\n{lines}"
