"""What work costs: the few numbers behind every decision between one thread and two, Python and
machine code, all pairs of columns and none.

Seconds on one core of an ordinary machine, as ``benchmarks/costs.py`` measures them. They need not
be exact: a decision that is taken a factor of two too early or too late costs some per cent. They
are no settings, since sums are added in an order that depends on the shape of the data alone.
"""

from __future__ import annotations

SECOND_THREAD = 1.0e-4
"""To hand work to another thread and to wait for the slower one."""

# Seconds for one entry of a matrix, rows in the cache or streaming from memory.
PLANE = 2.5e-10
"""In a product with a vector."""
SQUARES = 1e-9 / 3
"""In sums of squares of rows and of columns."""
HINGE_PASS = 4e-10
"""In a pass with hinge losses and the curvature of the rows near the corner."""
BAND = 0.3
"""Share of the rows that are near the corner of a hinge, and in its curvature."""
INTERIOR_ENTRY = 3e-9
"""In a step of interior points, beside the matrix of its rows,"""
INTERIOR_ROW = 6e-8
"""and of a row: its dual variable, slacks and their products."""
NEWTON_STEP = 2e-4
"""To begin a step of Newton's method, whatever the rows."""
LOGISTIC_PASS = 2e-9 / 3
"""In a pass with logistic losses: an exponential and a logarithm a row."""
SOFTMAX_PASS = 1.5e-8
"""Of scores, one a row and class: exponentials, sums and what is made of them."""
SPARSE = 1e-9
"""Of a sparse row: its column is looked up."""
SWEEPS = 1e-8 / 3
"""In the sweeps of a small machine, which reads it several times."""
LEVEL = 5e-10
"""As a slot of an additive kernel: sorted, counted or looked up."""
PROOF = 6e-9
"""In the proof of a linear machine, with all that is read for it."""
LEVEL_PROOF = 5e-7
"""In that of an additive machine, which sorts."""
VERDICT = 3e-5
"""Of a small table that is asked whether any plane separates it, with proof, in Python."""

# Seconds for one number made of others.
PRODUCT = 2e-11
"""A multiplication in a product of matrices."""
KERNEL = 1e-9 / 3
"""A kernel value that is made or summed on the way."""
KEPT_KERNEL = 2e-10
"""A kernel value that is kept, in a sum of rows."""
ADDITIVE = 5e-11
"""A summand of a value of an additive kernel."""

# Compiling.
PYTHON = 0.7e-6
"""An entry that is touched in Python,"""
NUMPY = 1e-8
"""and in operations on whole arrays."""
COMPILING = 0.15
"""To compile a routine, whatever it does: as much may be spent in Python first."""
INSTRUCTION = 1.5e-3
"""For each instruction of it and of the functions it calls."""
SURELY = 2.0
"""Times as much may be taken where others work on the machine, or a routine has many branches: so
much must be left of a limit of time before a compilation begins, which cannot be given up."""
LOADING = 0.5
"""The same where its machine code lies on the disk: numba is loaded."""
READING = 0.02
"""The same where numba is loaded already."""
MANY_CALLS = 10
"""Calls like the last ones that are expected: machine code is kept, and the next fit finds it."""
LONG = 500
"""Passes that a rule which moves a little at a time may well need."""
COMPILED = 5_000
"""Entries of a problem from which loops are written for machine code, not for numpy."""

UNASKED = 3e-3
"""Seconds that a fit may take for what nobody has asked for: nobody waits for them."""

# Sizes.
AT_ONCE = 1 << 20
"""Entries that are looked at together where a temporary copy of them is made."""
IN_CACHE = 1 << 16
"""The same where they are read several times, and stay in the cache."""
NEWTON_COLUMNS = 1500
"""Columns up to which a Newton system is factored in a blink,"""
GRAM_COLUMNS = 2500
"""and up to which a matrix of the products of all pairs of them is worth its time."""

# What accuracy is worth, see models/logistic_regression.py.
SETTLED = 0.01
"""Of its standard error: a weight that is off by less needs no further step."""
SUMMED = 1e-9
"""Relative gap below which nothing is gained however many the rows: sums of them are rounded."""
SPARSE_DIGITS = 1e-10
"""Relative gap of smooth losses on sparse rows at which weights are off by 1e-5 of their length."""
AGREED = 1e-6
"""Relative gap from which on all but a few predictions are those of the optimum: a default. A
larger one that is asked for ends a fit, also where more would cost next to nothing."""
AGREED_KERNEL = 1e-5
"""The same of machines with kernels, which pay more for it."""


def second_thread(entry: float) -> int:
    """Entries of this cost from which a second thread is worth its start.

    >>> second_thread(PLANE)
    400000
    """
    return round(SECOND_THREAD / entry)
