"""Reading target files, and writing them into ConfigMaps."""

from __future__ import annotations

from pathlib import Path

from kstream_plan.assignors.planned.target_file import MAX_BYTES
from kstream_plan.errors import ConfigError

_KIND = "kind: ConfigMap"


def target_content(path: Path) -> bytes:
    """Return the content of a target file; if it is too large, only the beginning that shows this.

    Raises:
        ConfigError: it cannot be read, or is a ConfigMap with a target file in it.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        problem = f"cannot read the file: {error.strerror or error}"
        raise ConfigError(problem, where=str(path), fix="check the path") from error
    if _KIND.encode() in content.splitlines():
        fix = "give the file in it: kubectl get configmap NAME -o jsonpath='{.data.target\\.properties}'"
        raise ConfigError("is a ConfigMap, not a target file", where=str(path), fix=fix)
    return content


def config_map(name: str, text: str) -> str:
    """Return a Kubernetes ConfigMap of this name that holds a target file, as YAML."""
    lines = "".join(f"    {line}\n" for line in text.removesuffix("\n").split("\n"))
    return f"apiVersion: v1\n{_KIND}\nmetadata:\n  name: {name}\ndata:\n  target.properties: |\n{lines}"
