"""Commands without Spark: the rows that it would read are read in plain Python, everything else is as it is."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

from typer.main import get_command

from kstream_plan.cli import application
from kstream_plan.errors import SparkError
from kstream_plan.snapshots.files.newest_rows import NewestRow, RowText, Selection, keyed_row, newest_rows, rows_of
from kstream_plan.snapshots.files.sources import Form, Input

_APPLICATION = application.application
_SPARK = "kstream_plan.snapshots.spark"


@contextmanager
def without_spark() -> Iterator[None]:
    """Put stand-ins in the place of what starts Spark and of what it reads; Parquet and lag rows are refused."""
    stands_in = {
        f"{_SPARK}.session": _module(open_context=_opened, open_session=_opened, sql_session=lambda _: None),
        f"{_SPARK}.newest_snapshots": _module(
            newest_snapshots=_newest, newest_little_snapshots=_newest, known_applications=lambda *_: []
        ),
        f"{_SPARK}.newest_lags": _module(newest_lags=_refuse),
        f"{_SPARK}.lag_courses": _module(known_applications=_refuse, lag_courses=_refuse),
        f"{_SPARK}.remote": _module(remote_inputs=_refuse),
    }
    kept = {name: sys.modules[name] for name in stands_in if name in sys.modules}
    sys.modules.update(stands_in)
    try:
        with mock.patch.object(application, "application", _application):
            yield
    finally:
        for name in stands_in:
            del sys.modules[name]
        sys.modules.update(kept)


def _application(words: Sequence[str]) -> Any:
    """The application as one that is built once for each command; nothing of a run is kept in it."""
    return _built(next((word for word in words if word in application.COMMANDS), ""))


class _Built:
    """An application with its command, which takes its time to make."""

    def __init__(self, app: Any) -> None:
        self._app, self._command = app, get_command(app)

    def __call__(self, **given: Any) -> Any:
        return self._command(**given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._app, name)


@cache
def _built(command: str) -> Any:
    return _Built(_APPLICATION([command]))


def _opened(*_: Any, **__: Any) -> AbstractContextManager[SimpleNamespace]:
    return nullcontext(SimpleNamespace(sparkContext=None, defaultParallelism=1))


def _module(**names: Any) -> ModuleType:
    found = ModuleType("stand_in")
    found.__dict__.update(names)
    return found


def _newest(_: Any, inputs: Sequence[Input], selection: Selection) -> list[NewestRow]:
    return newest_rows((keyed_row(row) for file in inputs for row in _rows(file)), selection)


def _rows(file: Input) -> Iterator[RowText]:
    if file.form is Form.PARQUET:
        _refuse()
    try:
        data = Path(file.path).read_bytes()
        text = gzip.decompress(data) if file.path.endswith(".gz") else data
    except (OSError, EOFError) as error:
        raise SparkError("cannot be read", where=file.name, fix="check it") from error
    if file.form is Form.DOCUMENT:
        yield from (row for row in rows_of(RowText(file.name, text)) if row.text.strip())
        return
    yield from (RowText(file.name, line.removeprefix(b"\xef\xbb\xbf")) for line in text.split(b"\n") if line.strip())


def _refuse(*_: Any) -> Any:
    raise SparkError("is only read by Spark", where="input", fix="run the targets of Spark")
