"""What executors on other machines are sent: this package, as an archive of its files."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import kstream_plan

_NOT_SENT = {"__pycache__"}
#: Python loads no compiled code from an archive, and does without.
_COMPILED = {".c", ".pxd", ".pyd", ".pyx", ".so"}


def package_archive(folder: Path) -> Path:
    """Write the archive into ``folder`` and return it."""
    package = Path(kstream_plan.__file__).parent
    archive = folder / f"{package.name}.zip"
    with ZipFile(archive, "w", ZIP_DEFLATED) as file:
        for path in sorted(package.rglob("*")):
            if path.is_file() and path.suffix not in _COMPILED and not _NOT_SENT & set(path.parts):
                file.write(path, path.relative_to(package.parent))
    return archive
