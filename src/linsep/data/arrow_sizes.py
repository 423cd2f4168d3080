"""What parts of Arrow and Parquet files say that they unpack to, read before anything is unpacked.

pyarrow allocates what a compressed buffer or page claims, and tells nobody before. Offsets are
those of the formats' own definitions (Message.fbs, parquet.thrift); a number that points out of the
file is an IndexError or a struct.error, which whoever reads the file turns into words.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple, overload

_MARK = b"\xff\xff\xff\xff"  # before a message, since the format is older than it

# -- Bytes of a file that is too large to be held --------------------------------------------------

_WINDOW = 1 << 12  # bytes that are read at a time


class FileBytes:
    """A file as if it were its bytes; what is not there any more is an IndexError."""

    def __init__(self, file: BinaryIO, begin: int = 0) -> None:
        self._file, self._begin = file, begin
        self._size = file.seek(0, os.SEEK_END) - begin
        self._lo, self._window = 0, b""

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> bytes: ...

    def __getitem__(self, place: int | slice) -> int | bytes:
        if isinstance(place, slice):
            lo, hi, _ = place.indices(self._size)
            return self._read(lo, hi - lo)
        if not 0 <= place < self._size:
            raise IndexError(f"byte {place} of {self._size}")
        if not self._lo <= place < self._lo + len(self._window):
            self._lo, self._window = place, self._read(place, _WINDOW)
        return self._window[place - self._lo]

    def _read(self, at: int, size: int) -> bytes:
        self._file.seek(self._begin + at)
        return self._file.read(max(size, 0))


# -- Arrow: messages are tables of flatbuffers -----------------------------------------------------


def buffer_sizes(data: bytes | FileBytes) -> Iterator[int]:
    """Bytes of each compressed buffer of a stream when it is unpacked."""
    at = 0
    while at + 4 <= len(data):
        at += 4 * (data[at : at + 4] == _MARK)
        (size,) = struct.unpack("<i", data[at : at + 4])
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


def _unpacked(data: bytes | FileBytes, body: int, batch: _Table) -> Iterator[int]:
    if batch.inner(3) is None:  # not compressed
        return
    for offset, length in batch.pairs(2):
        if length > 0:
            (size,) = struct.unpack("<q", data[body + offset : body + offset + 8])
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

_HEAD, _HEAD_MOST = 256, 1 << 24  # bytes of most heads of pages, and of any
_LEVELS = 2  # of a flat column: a value is there or missing
_BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 3, 7, 8, 9, 10, 11, 12


class Chunk(NamedTuple):
    """A column of a row group, as the end of the file describes it."""

    values: int
    size: int
    """Bytes in the file."""
    start: int
    """Where its first page begins."""


class Group(NamedTuple):
    """A row group."""

    rows: int
    chunks: list[Chunk]


def row_groups(data: bytes | FileBytes) -> list[Group]:
    """The row groups of a Parquet file, from the struct at its end.

    pyarrow has them too, but ends the process where a chunk's statistics do not fit its type.
    """
    (size,) = struct.unpack("<I", data[len(data) - 8 : len(data) - 4])
    begin = len(data) - 8 - size
    if begin < 4:
        raise ValueError("a description longer than the file")
    head = _whole(data[begin : begin + size], 0)[0]
    return [
        Group(group.get(3, 0), [_chunk(column) for column in group.get(1, [])])
        for group in head.get(4, [])
    ]


def _chunk(column: dict[int, Any]) -> Chunk:
    told = column.get(3)
    if not isinstance(told, dict):
        raise ValueError("a column that is not described")
    levels = [v for v in told.get(16, {}).values() if isinstance(v, list)]
    if any(len(histogram) > _LEVELS for histogram in levels):
        raise ValueError("statistics of more levels than a flat column has")
    start = told.get(9, 0)
    if 0 < told.get(11, 0) < start:
        start = told[11]
    return Chunk(told.get(5, 0), told.get(7, 0), start)


def page_sizes(data: bytes | FileBytes, chunk: Chunk) -> Iterator[int]:
    """Bytes of each page of a column when it is unpacked."""
    at, end = chunk.start, chunk.start + chunk.size
    if not 0 <= chunk.start <= end <= len(data):
        raise ValueError("a column that lies outside of the file")
    while at < end:
        head, at = _head(data, at)
        size, packed = head.get(2, 0), head.get(3, 0)
        if size < 0 or packed < 0:
            raise ValueError("a page of less than no bytes")
        yield size
        at += packed


def _head(data: bytes | FileBytes, at: int) -> tuple[dict[int, Any], int]:
    """The head of a page: of a few dozen bytes as a rule, which are read at once."""
    size = _HEAD
    while True:
        some = data[at : at + size]
        try:
            head, length = _whole(some, 0)
        except IndexError:
            if len(some) < size or size >= _HEAD_MOST:  # it has no end
                raise
            size *= 16
        else:
            return head, at + length


def _whole(data: bytes, at: int, depth: int = 0) -> tuple[dict[int, Any], int]:
    """A struct with the structs and lists inside of it; texts and truths are left out."""
    found: dict[int, Any] = {}
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
        found[field], at = _inside(data, at, kind, depth)


def _inside(data: bytes, at: int, kind: int, depth: int, *, alone: bool = False) -> tuple[Any, int]:
    if depth > 20:
        raise ValueError("structs in structs in structs")
    if kind in (4, 5, 6):
        return _zigzag(data, at)
    if kind == _STRUCT:
        return _whole(data, at, depth + 1)
    if kind not in (_LIST, _SET):
        return None, _skipped(data, at, kind, alone=alone)
    size, inner = data[at] >> 4, data[at] & 15
    at += 1
    if size == 15:
        size, at = _varint(data, at)
    found = []
    for _ in range(size):
        one, at = _inside(data, at, inner, depth + 1, alone=True)
        found.append(one)
    return found, at


def _skipped(data: bytes, at: int, kind: int, *, alone: bool = False) -> int:
    """Where a value ends that is not looked at."""
    if kind in (1, 2):  # a truth is in the kind itself, but not in lists
        return at + alone
    if kind == _BYTE:
        return at + 1
    if kind == _DOUBLE:
        return at + 8
    if kind == _BINARY:
        size, at = _varint(data, at)
        return at + size
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
