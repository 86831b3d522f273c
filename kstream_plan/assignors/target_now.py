"""What an assignor decides by that follows a target file: the file, and the leader's clock."""

from __future__ import annotations

from typing import NamedTuple


class TargetNow(NamedTuple):
    """A target file's ``content`` (``None``: there is none) at ``now_ms``, milliseconds since 1970."""

    content: bytes | None = None
    now_ms: int = 0


NO_TARGET = TargetNow()
