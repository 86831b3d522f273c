"""``plugin``: the sources of the class that has Kafka Streams follow a target file."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer

import kstream_plan
from kstream_plan.cli.failures import expected_failures
from kstream_plan.cli.options.parameters import Options, takes
from kstream_plan.cli.output import write_stdout
from kstream_plan.errors import KstreamPlanError
from kstream_plan.pages.sections import shown_text
from kstream_plan.render.text.escape import printable

#: What a build leaves in the project of a checkout.
_BUILT = "target"


class PluginOptions(Options):
    """What ``plugin`` is asked."""

    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="New or empty folder for the Maven project.")]


@takes(PluginOptions)
def plugin(options: PluginOptions) -> None:
    """Write the Maven project of the assignor that follows a target file."""
    with expected_failures(debug=options.debug):
        number = write_project(options.out)
        write_stdout(
            f"{number} files are in {printable(str(options.out))}; README.md says how to bring the class in.\n"
            f"Next: {printable(shlex.join(['mvn', '-f', str(options.out / 'pom.xml'), 'package']))}\n"
        )


def write_project(folder: Path) -> int:
    """Write the project into a folder that is new or empty, whole or not at all, and return the number of its files.

    Its README.md is the page ``plugin``.

    Raises:
        KstreamPlanError: the folder has files in it, is none, or cannot be written to.
    """
    place = f"--out {folder}"
    is_new = not folder.exists()
    try:
        if not is_new and any(folder.iterdir()):
            raise KstreamPlanError("is not empty", where=place, fix="name a new or an empty folder")
        folder.mkdir(exist_ok=True)
        try:
            return _copy(Path(kstream_plan.__file__).parent / "plugin", folder)
        except BaseException:
            if is_new:
                folder.rmdir()
            raise
    except FileNotFoundError:
        fix = f"create {folder.resolve().parent}"
        raise KstreamPlanError("its folder does not exist", where=place, fix=fix) from None
    except NotADirectoryError:
        raise KstreamPlanError("is a file", where=place, fix="name a new or an empty folder") from None
    except OSError as error:
        message = f"cannot be written to: {error.strerror or error}"
        raise KstreamPlanError(message, where=place, fix="check the disk, or choose another place") from error


def _copy(project: Path, folder: Path) -> int:
    """Copy a project beside its place, then move its few entries there, and return the number of its files."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".kstream-plan-") as name:
        scratch = Path(name)
        files = [path.relative_to(project) for path in sorted(project.rglob("*")) if path.is_file()]
        files = [path for path in files if path.parts[0] != _BUILT]
        for path in files:
            (scratch / path).parent.mkdir(parents=True, exist_ok=True)
            # the contents only: whoever may not write the installed file may write the copy
            shutil.copyfile(project / path, scratch / path)
        (scratch / "README.md").write_text(shown_text("plugin"), encoding="utf-8")
        entries = sorted(scratch.iterdir())
        try:
            for entry in entries:
                entry.rename(folder / entry.name)
        except OSError:
            for entry in entries:
                if (folder / entry.name).exists():
                    (folder / entry.name).rename(entry)
            raise
        return len(files) + 1
