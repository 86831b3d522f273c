"""A cursor over bytes in Kafka's wire types, for payloads that cannot be trusted.

Every length and count is checked against the remaining bytes before anything is built from it, so that the memory of
this process is bounded by the payload's own size. The types are those of Kafka's message generator
(``clients/src/main/resources/common/message/README.md``) and of ``java.io.DataOutput`` (``writeUTF``, ``writeChars``).
"""

from __future__ import annotations

import struct

_INT8 = struct.Struct(">b")
_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")
#: An unsigned varint of 32 bits has at most this many bytes.
_LONGEST_VARINT = 5


class PayloadError(Exception):
    """A payload breaks its format; a caller that knows its member makes a ``SnapshotError`` of it.

    Args:
        field: the field in Kafka's name for it, empty for the payload as a whole.
        problem: what is wrong, one sentence without a full stop.
    """

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(problem)
        self.field = field
        self.problem = problem

    def inside(self, outer: str) -> PayloadError:
        """Return the same error seen from further out: ``outer`` is put before the field."""
        return PayloadError(f"{outer}.{self.field}" if self.field else outer, self.problem)


class UnknownVersionError(PayloadError):
    """A payload is of a version that this release does not know."""

    def inside(self, outer: str) -> UnknownVersionError:
        """Return the same error seen from further out."""
        return UnknownVersionError(f"{outer}.{self.field}" if self.field else outer, self.problem)


def known_version(version: int, oldest: int, newest: int) -> int:
    """Return the version of a payload.

    Raises:
        UnknownVersionError: it is not between the oldest and the newest known one.
    """
    if not oldest <= version <= newest:
        raise UnknownVersionError("version", f"is {version}; known are {oldest} to {newest}")
    return version


class ByteReader:
    """Reads one payload from front to end; ``field`` is the name to blame in every method.

    Every method raises :class:`PayloadError` if the bytes do not hold such a value.
    """

    __slots__ = ("_data", "_position")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    @property
    def remaining_bytes(self) -> int:
        """The number of bytes that are not read yet."""
        return len(self._data) - self._position

    def int8(self, field: str) -> int:
        """Return a signed integer of 1 byte."""
        return self._integer(_INT8, field)

    def int16(self, field: str) -> int:
        """Return a signed integer of 2 bytes."""
        return self._integer(_INT16, field)

    def int32(self, field: str) -> int:
        """Return a signed integer of 4 bytes."""
        return self._integer(_INT32, field)

    def int64(self, field: str) -> int:
        """Return a signed integer of 8 bytes."""
        return self._integer(_INT64, field)

    def unsigned_varint(self, field: str) -> int:
        """Return an unsigned integer of 1 to 5 bytes, 7 bits each, the least significant first."""
        value = 0
        for place in range(_LONGEST_VARINT):
            byte = self._take(1, field)[0]
            value |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                return value
        raise PayloadError(field, "is a varint that does not end")

    def exactly(self, length: int, field: str) -> bytes:
        """Return the next ``length`` bytes."""
        return self._take(length, field)

    def string(self, field: str) -> str:
        """Return a string: its length in 2 bytes, then UTF-8."""
        return _utf8(self._take(self._length(self.int16(field), field), field), field)

    def nullable_string(self, field: str) -> str | None:
        """Return a string as :meth:`string` does, ``None`` where its length is -1."""
        length = self.int16(field)
        return None if length == -1 else _utf8(self._take(self._length(length, field), field), field)

    def sized_bytes(self, field: str) -> bytes:
        """Return bytes after their length in 4 bytes."""
        return self._take(self._length(self.int32(field), field), field)

    def nullable_bytes(self, field: str) -> bytes | None:
        """Return bytes as :meth:`sized_bytes` does, ``None`` where their length is -1."""
        length = self.int32(field)
        return None if length == -1 else self._take(self._length(length, field), field)

    def count(self, field: str, item_bytes: int) -> int:
        """Return the number of items in an array, in 4 bytes.

        Args:
            field: the array.
            item_bytes: the least number of bytes that one item has.
        """
        return self._fitting(self.int32(field), field, item_bytes)

    def compact_string(self, field: str) -> str:
        """Return a string of the flexible versions (KIP-482): length + 1 as a varint, then UTF-8."""
        return _utf8(self.compact_bytes(field), field)

    def compact_nullable_string(self, field: str) -> str | None:
        """Return a string as :meth:`compact_string` does, ``None`` where its length + 1 is 0."""
        length = self.unsigned_varint(field) - 1
        return None if length == -1 else _utf8(self._take(length, field), field)

    def compact_bytes(self, field: str) -> bytes:
        """Return bytes of the flexible versions: length + 1 as a varint, then the bytes."""
        return self._take(self._length(self.unsigned_varint(field) - 1, field), field)

    def compact_count(self, field: str, item_bytes: int) -> int:
        """Return the number of items in an array of the flexible versions, as :meth:`count` does."""
        return self._fitting(self.unsigned_varint(field) - 1, field, item_bytes)

    def compact_nullable_count(self, field: str, item_bytes: int) -> int | None:
        """Return the number of items as :meth:`compact_count` does, ``None`` where that number + 1 is 0."""
        count = self.unsigned_varint(field) - 1
        return None if count == -1 else self._fitting(count, field, item_bytes)

    def pass_tagged_fields(self, field: str) -> None:
        """Pass over the tagged fields that end every struct of the flexible versions (KIP-482)."""
        for _ in range(self._fitting(self.unsigned_varint(field), field, 2)):
            self.unsigned_varint(field)
            self._take(self.unsigned_varint(field), field)

    def java_utf(self, field: str) -> str:
        """Return what ``DataOutput.writeUTF`` wrote: length in 2 bytes unsigned, then Java's modified UTF-8."""
        return _modified_utf8(self._take(self.int16(field) & 0xFFFF, field), field)

    def java_chars(self, field: str) -> str:
        """Return what ``DataOutput.writeInt`` and ``writeChars`` wrote: number of chars in 4 bytes, then UTF-16."""
        data = self._take(2 * self.count(field, 2), field)
        try:
            return data.decode("utf-16-be")
        except UnicodeDecodeError as error:
            raise PayloadError(field, f"is not UTF-16: {error.reason}") from None

    def finish(self) -> None:
        """Check that nothing is left."""
        if self.remaining_bytes:
            raise PayloadError("", f"goes on for {self.remaining_bytes} bytes after its end")

    def _integer(self, kind: struct.Struct, field: str) -> int:
        value: int = kind.unpack(self._take(kind.size, field))[0]
        return value

    def _take(self, length: int, field: str) -> bytes:
        end = self._position + length
        if end > len(self._data):
            raise PayloadError(
                field, f"needs {length} bytes where {self.remaining_bytes} are left, at byte {self._position}"
            )
        chunk = self._data[self._position : end]
        self._position = end
        return chunk

    def _length(self, length: int, field: str) -> int:
        if length < 0:
            raise PayloadError(field, f"has the length {length}, at byte {self._position}")
        return length

    def _fitting(self, count: int, field: str, item_bytes: int) -> int:
        if not 0 <= count <= self.remaining_bytes // item_bytes:
            raise PayloadError(
                field, f"cannot have {count} items in the {self.remaining_bytes} bytes left, at byte {self._position}"
            )
        return count


def _utf8(data: bytes, field: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PayloadError(field, f"is not UTF-8: {error.reason}") from None


def _modified_utf8(data: bytes, field: str) -> str:
    """Java writes U+0000 as two bytes, and what is beyond U+FFFF as two surrogates of three bytes each."""
    try:
        units = data.replace(b"\xc0\x80", b"\x00").decode("utf-8", "surrogatepass")
        return units.encode("utf-16-be", "surrogatepass").decode("utf-16-be")
    except UnicodeDecodeError as error:
        raise PayloadError(field, f"is not Java's modified UTF-8: {error.reason}") from None
