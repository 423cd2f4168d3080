"""What parts of Arrow and Parquet files say that they unpack to, read before anything is unpacked.

pyarrow allocates what a compressed buffer or page claims, and tells nobody before. Offsets are
those of the formats' own definitions (Message.fbs, parquet.thrift); a number that points out of the
file is an IndexError or a struct.error, which whoever reads the file turns into words.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

_MARK = b"\xff\xff\xff\xff"  # before a message, since the format is older than it

# -- Arrow: messages are tables of flatbuffers -----------------------------------------------------


def buffer_sizes(data: bytes) -> Iterator[int]:
    """Bytes of each compressed buffer of a stream when it is unpacked."""
    at = 0
    while at + 4 <= len(data):
        at += 4 * (data[at : at + 4] == _MARK)
        (size,) = struct.unpack_from("<i", data, at)
        if size <= 0:
            return
        message = _Table.root(data[at + 4 : at + 4 + size])
        body = at + 4 + size
        kind, header = message.number(1, "<B"), message.inner(2)
        if header is not None and kind == 2:  # a batch of words of a dictionary
            header = header.inner(1)
        if header is not None and kind in (2, 3):
            yield from _unpacked(data, body, header)
        at = body + message.number(3, "<q")
        if at < body:
            raise ValueError("a message of less than no bytes")


def _unpacked(data: bytes, body: int, batch: _Table) -> Iterator[int]:
    if batch.inner(3) is None:  # not compressed
        return
    for offset, length in batch.pairs(2):
        if length > 0:
            (size,) = struct.unpack_from("<q", data, body + offset)
            yield length if size == -1 else size
            if size < -1 or offset < 0:
                raise ValueError("a buffer of less than no bytes")


class _Table:
    """A table of flatbuffers: where its fields lie stands in a list before it."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at
        self.fields = at - struct.unpack_from("<i", data, at)[0]
        (self.size,) = struct.unpack_from("<H", data, self.fields)

    @classmethod
    def root(cls, data: bytes) -> _Table:
        return cls(data, struct.unpack_from("<I", data)[0])

    def _place(self, field: int) -> int:
        """Where a field lies; 0 if it is absent."""
        entry = 4 + 2 * field
        if entry + 2 > self.size:
            return 0
        (offset,) = struct.unpack_from("<H", self.data, self.fields + entry)
        return self.at + offset if offset else 0

    def number(self, field: int, form: str) -> int:
        place = self._place(field)
        return int(struct.unpack_from(form, self.data, place)[0]) if place else 0

    def inner(self, field: int) -> _Table | None:
        place = self._place(field)
        return _Table(self.data, place + self.number(field, "<I")) if place else None

    def pairs(self, field: int) -> Iterator[tuple[int, int]]:
        """A list of structs of two long numbers."""
        place = self._place(field)
        if place:
            place += self.number(field, "<I")
            (count,) = struct.unpack_from("<I", self.data, place)
            for k in range(count):
                yield struct.unpack_from("<qq", self.data, place + 4 + 16 * k)


# -- Parquet: heads of pages are structs of thrift, in its compact form ----------------------------

_BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 3, 7, 8, 9, 10, 11, 12


def page_sizes(data: bytes, chunk: Any) -> Iterator[int]:
    """Bytes of each page of a column when it is unpacked."""
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset is not None:
        start = min(start, chunk.dictionary_page_offset)
    at, end = start, start + chunk.total_compressed_size
    if not 0 <= start <= end <= len(data):
        raise ValueError("a column that lies outside of the file")
    while at < end:
        head, at = _struct(data, at)
        size, packed = head.get(2, 0), head.get(3, 0)
        if size < 0 or packed < 0:
            raise ValueError("a page of less than no bytes")
        yield size
        at += packed


def _struct(data: bytes, at: int, depth: int = 0) -> tuple[dict[int, int], int]:
    """The whole numbers of a struct by their fields, and where it ends."""
    found: dict[int, int] = {}
    field = 0
    while True:
        kind, step = data[at] & 15, data[at] >> 4
        at += 1
        if kind == 0:
            return found, at
        if step:
            field += step
        else:
            field, at = _zigzag(data, at)
        if kind in (4, 5, 6):
            found[field], at = _zigzag(data, at)
        else:
            at = _skipped(data, at, kind, depth)


def _skipped(data: bytes, at: int, kind: int, depth: int, *, alone: bool = False) -> int:
    """Where a value ends that is not looked at."""
    if depth > 20:
        raise ValueError("structs in structs in structs")
    if kind in (1, 2):  # a truth is in the kind itself, but not in lists
        return at + alone
    if kind == _BYTE:
        return at + 1
    if kind in (4, 5, 6):
        return _varint(data, at)[1]
    if kind == _DOUBLE:
        return at + 8
    if kind == _BINARY:
        size, at = _varint(data, at)
        return at + size
    if kind in (_LIST, _SET):
        size, inner = data[at] >> 4, data[at] & 15
        at += 1
        if size == 15:
            size, at = _varint(data, at)
        for _ in range(size):
            at = _skipped(data, at, inner, depth + 1, alone=True)
        return at
    if kind == _STRUCT:
        return _struct(data, at, depth + 1)[1]
    raise ValueError(f"a value of kind {kind}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        value |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return value, at
    raise ValueError("a number of more than ten bytes")


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at
