"""Code may move, numbers may not: every fit of the table gives the bits that are recorded."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from tests.laws import bits


@cache
def first(name: str) -> dict[str, str]:
    """The hashes of the first fit in this process."""
    return bits.hashes(name)


@pytest.mark.parametrize("name", bits.FITS)
def test_the_bits_are_those_recorded(name):
    record = bits.recorded()
    if record is None:
        pytest.skip(f"no bits are recorded for {bits.fingerprint()}")
    words = bits.difference(record.get(name), first(name))
    assert not words, f"{name}: {words}; python -m tests.laws.bits --show tells what it is made of"


@pytest.mark.parametrize("name", [name for name, fit in bits.FITS.items() if fit.cheap])
def test_a_second_fit_gives_the_same_bits(name):
    assert not bits.difference(first(name), bits.hashes(name))


def test_a_hash_sees_the_last_bit_and_names_but_no_classes():
    @dataclass
    class One:
        a: np.ndarray
        seconds: float
        b: float = float("nan")

    @dataclass
    class Other:
        b: float
        a: np.ndarray

    row = np.array([1.0, np.nan])
    value = bits.digest(One(row, 3.0))
    assert value == bits.digest(Other(np.float64("nan"), np.array([1.0, -np.nan])))
    assert value == bits.digest({"a": row, "b": float("nan")})
    assert value != bits.digest(One(np.nextafter(row, 2), 3.0))
    assert value != bits.digest({"a": row, "c": float("nan")})
    assert bits.digest([1, 2.0]) == bits.digest((np.int32(1), np.float64(2)))
