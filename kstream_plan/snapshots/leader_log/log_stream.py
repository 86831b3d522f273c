"""A log that is written while it is read, as a pipe gives it: what has come in so far, and no more than it takes."""

from __future__ import annotations

import io
import threading
from typing import BinaryIO

#: So much of the beginning is kept, where instances say their release and settings; then the newest part.
_HEAD_BYTES = 1 << 20
_BLOCK_BYTES = 1 << 16


class LogStream:
    """What has been read of a stream so far; it is read in a thread of its own, which waits for more.

    Args:
        stream: the stream, as standard input is.
        tail_bytes: so much of the newest part is kept.
    """

    def __init__(self, stream: BinaryIO, tail_bytes: int = 64 << 20) -> None:
        self._stream = stream
        self._tail_bytes = tail_bytes
        self._head, self._tail = bytearray(), bytearray()
        self._lock = threading.Lock()
        self._size, self._is_cut = 0, False
        self._ended = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def size(self) -> int:
        """How many bytes have come in."""
        return self._size

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self._ended.is_set()

    def so_far(self) -> BinaryIO:
        """Return what has come in so far in whole lines: the beginning, and the newest part."""
        with self._lock:
            head = self._head[: self._head.rfind(b"\n") + 1] if self._is_cut else self._head
            content = bytes(head + self._tail)
        return io.BytesIO(content if self.ended else content[: content.rfind(b"\n") + 1])

    def _read(self) -> None:
        # a thread that waits in a buffered reader keeps Python from ending
        unbuffered: BinaryIO = getattr(self._stream, "raw", self._stream)
        try:
            while block := unbuffered.read(_BLOCK_BYTES):
                self._take(block)
        except (OSError, ValueError):  # it was closed
            pass
        finally:
            self._ended.set()

    def _take(self, block: bytes) -> None:
        with self._lock:
            self._size += len(block)
            room = _HEAD_BYTES - len(self._head)
            self._head += block[:room]
            self._tail += block[max(room, 0) :]
            if len(self._tail) > 2 * self._tail_bytes:  # seldom, and at the end of a line
                cut = self._tail.find(b"\n", len(self._tail) - self._tail_bytes) + 1
                del self._tail[: cut or len(self._tail) - self._tail_bytes]
                self._is_cut = True
