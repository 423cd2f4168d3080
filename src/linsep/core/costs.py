"""What work costs: the numbers behind every decision between one thread and two, Python and machine
code, one solver and another, a copy and none.

Seconds come first, on one core of an ordinary machine, as ``benchmarks/costs.py`` measures them.
Then come sizes from which something pays, by what they decide. None need be exact: a decision that
is taken a factor of two too early or too late costs some per cent. They are no settings, since sums
are added in an order that depends on the shape of the data alone.
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
SWEEPS_BEGIN = 2e-3
"""To begin with sweeps over dual variables, and to give them up,"""
SWEEP_ROW = 1.2e-8
"""of a row in one of them,"""
SWEEP_ENTRY = 6e-10
"""and of an entry of it."""
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
FIRST_ENTRY = 4e-9
"""For each plane of a first model by least squares, all its steps together."""
PROOF = 6e-9
"""In the proof of a linear machine, with all that is read for it."""
PROOF_SCORE = 1.2e-8
"""of each of its rows and classes, where there are more than two,"""
PROOF_MACHINE = 3e-4
"""and of a machine, where each class, or pair of them, has one with a gap of its own."""
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

ROW_DRAWN = 4.5e-8
"""A row of those from which a proof may draw its sample, beside its sums of squares,"""
ENTRY_WEIGHED = 3e-9
"""and an entry of a row that is made ready for products."""

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

UNASKED = 1e-3
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

# Small enough to be solved to the last digits at no cost worth speaking of.
SMALL_ROWS = 2000
"""Rows of a linear machine,"""
SMALL_ENTRIES = 100_000
"""and its entries."""

# Which solver, see models/svm_choice.py and the solvers of kernels and squares.
INTERIOR_STEPS = 25
"""Steps of interior points: 15 where classes overlap, 35 where they hardly do."""
HINGE_STEPS = 13
"""Steps of Newton's method where rows are many and the loss has no corner,"""
CORNER_STEPS = 52
"""and where it has one; more the smaller tol, which does not decide: of two methods that with the
smaller tol might stop at the worse model."""
SWEEPS_TRIED = 12
"""Sweeps over dual variables after which it is seen whether they will take long,"""
SWEEPS_SHARE = 1 / 6
"""and the share of the seconds of the other way that they may take: where the optimum is easy
nothing else is needed."""
MORE_STEPS = 12
"""Times columns / rows: more steps where rows are few."""
LAST_STEPS = 10
"""Steps on all rows, after those on a sample."""
INTERIOR_SIDE = 1000
"""Rows or columns with which interior points are found in a second,"""
INTERIOR_COPIED = 20_000_000
"""and entries of a table up to which they are, as they need a copy."""
SCORES_KEPT = 5_000_000
"""Rows times classes up to which Newton's method for one loss of all classes keeps all scores."""
MACHINE_WEIGHTS = 300
"""Weights of a machine of many classes whose system is solved in a blink."""
MACHINE_PAIRS = 600
"""Rows times rivals with which one loss of all classes is solved in a second."""
CORNERS_SORTED = 20_000
"""Rows whose corners are sorted in a blink."""
FINE_ROWS = 1000
"""Rows up to which more digits than the default cost nothing worth mentioning."""
DOUBLE_ROWS = 3000
"""Rows up to which a Gram matrix in float64 costs no more than one in float32."""
NO_FURTHER = 500_000
"""Entries of all problems of a scheme from which none is solved further than tol asks."""
CERTIFIED_IN_FIT = 200_000
"""Entries up to which machines of other libraries are certified in ``fit``."""
PROXIMAL_FACTORED = 600
"""Columns up to which the Newton systems of proximal steps are factored, not iterated."""
SET_ASIDE = 1_500_000
"""Entries of a table from which leaving rows out of a pass costs less than reading them."""
WHOLE_SET = 600
"""Rows of a kernel machine up to which all of them are one working set."""
POLISHED_ROWS = 1000
"""Rows up to which the last digits come from linear equations, if they are wanted."""
RESCUED_ROWS = 2000
"""Rows up to which an interior point method costs no more than going on."""
SET_IN_ONE = 608
"""Rows of a working set up to which it is worked on as a whole,"""
SET_IN_PARTS = 256
"""and rows of the smaller sets that a larger one is worked on in."""
PLANE_INTERIOR = 100_000
"""Entries of a machine with the linear kernel up to which interior points are quicker."""
SWEPT_ENTRIES = 300_000
"""Entries from which sweeps over dual variables bring more than they cost."""
WHOLE_HESSIAN = 1500
"""Weights of a softmax model up to which all second derivatives are computed,"""
HESSIAN_WORK = 4.0e9
"""with so many multiplications for one matrix of them, at most."""
FOLDED_WEIGHTS = 1500
"""Weights up to which a wide table is turned until it is square."""
SOFTMAX_SAMPLED = 100_000
"""Entries from which softmax regression begins with a sample."""
ROWS_KEPT_APART = 300_000
"""Entries of a Newton system from which its steep rows are looked for and kept apart."""
GRAM_TIMES = 4
"""Rows for each column from which the matrix of all pairs of columns is the cheaper way."""
DESCENT_ON_ROWS = 60_000
"""Entries up to which gradient descent uses the rows themselves."""
SPARED_PASS = 2_000_000
"""Entries from which a pass is worth sparing a check of its condition."""
PRODUCTS_WORK = 4e10
"""Operations up to which all pairs of columns, or of rows, are multiplied."""
VERDICT_SAMPLED = 400_000
"""Entries from which some rows are asked for a verdict before all of them are."""
EQUAL_ROWS = 4_000_000
"""Entries up to which equal rows are looked for though a proof is there."""
PRODUCTS_OF_ROWS = 500
"""Rows of a search up to which compiled code goes through products of rows by itself."""
ROWS_AT_ONCE = 256
"""Kernel rows made together, where as many may be needed: products of fewer are slower."""

# When an array is written out, packed or copied.
UNPACKED_DENSE = 0.25
"""Share of entries from which a small sparse matrix is written out for Newton's method, and below
which a dense one is packed for sweeps."""
UNPACKED = 8_000_000
"""Entries up to which sparse rows are written out: their products are then BLAS."""
READ_DENSELY = 0.15
"""Share of entries from which a larger one is best read in dense blocks."""
PACKED_ENTRIES = 100_000
"""Entries of a table from which a copy without its zeros pays."""
DENSE_WIDTH = 32
"""Columns for each stored entry of a row up to which dense products are faster."""
CODED_COLUMNS = 4096
"""Columns up to which rows of bits are coded."""
WORTH_GROUPING = 4_000_000
"""Kernel values from which a look for equal rows pays."""
ADDITIVE_DENSE = 0.08
"""Share of entries from which rows of an additive kernel are laid out densely."""
PLANE_WRITTEN_OUT = 5_000_000
"""Entries of a machine with the linear kernel that are written out."""
WIDE_COPIED = 4_000_000
"""Entries of a wide matrix that is copied for its pseudo-inverse."""
CLOUD_WRITTEN_OUT = 4_000_000
"""Cells up to which the samples of a search are written out,"""
CLOUD_COLUMNS = 3000
"""and columns beyond which they never are."""
SENT_WITHOUT_ZEROS = 10_000
"""Entries from which an array is worth sending without its zeros."""
WHOLE_PASS = 1 << 20
"""Entries up to which a pass over all rows costs no more than a copy of some."""
FEW_KEPT = 32
"""Times as many rows as an additive machine has, from which its rows alone are sorted."""

# Machine code, numpy or BLAS, float32 or float64.
BLAS_COLUMNS = 256
"""Columns from which BLAS multiplies a row with itself faster than a plain loop."""
HASHED_BY_NUMPY = 60
"""Entries that numpy hashes while a loop in Python would touch one."""
MIRROR_COMPILED = 60_000
"""Entries of a tile from which machine code mirrors it,"""
EXPONENTS_COMPILED = 30_000
"""and from which it makes its exponents,"""
EXPONENTS_WITH_PRODUCTS = 160
"""together with the products up to so many columns."""
DIFFERENCES_COLUMNS = 16
"""Columns up to which differences of entries cost no more than products."""
SURVEY_COMPILED = 4_000_000
"""Entries from which compiled code is worth loading for a survey."""
OWN_PRODUCT = 16
"""Classes up to which our own product of rows is faster than BLAS."""
GRAM_BY_NUMPY = 100_000
"""Entries of kernel rows up to which a product by numpy is fast,"""
GRAM_COMPILED = 4_000_000
"""and entries of a Gram matrix from which machine code reads it faster."""
FLOAT32_FACTOR = 200
"""Rows from which a factor in float32 saves more than its refinement costs."""
FLOAT32_VALUES = 4_000_000
"""Kernel values from which float32 saves a proof more than its bounds cost."""

# What a proof may cost beyond the least.
SHARP_ENTRIES = 2_000_000
"""Entries of rows with alpha > 0 whose sums are rounded once, where that is asked for."""
SHARP_SCORES = 4_000_000
"""The same of softmax: entries of X times classes."""
ANOTHER_BOUND = 20_000_000
"""Multiplications for which another bound is tried where the first one is poor."""
GIVEN_FACTORED = 3000
"""Rows of a given Gram matrix up to which it is factored to prove it positive."""
EXACT_ENTRIES = 1000
"""Entries of a table up to which fractions take no time worth speaking of."""

# Pieces: what is worked on together. Sums depend on their sizes, and on the data alone.
BLOCK_BYTES = 448 * 1024
"""Bytes of a block of rows: with the sums beside it, it fits the second-level cache."""
LEAST_PIECE = 20_000
"""Numbers in a piece of long vectors, at least."""
HASHED_AT_ONCE = 1 << 15
"""Entries of a block of mixed values that stays in the cache."""
PROBABILITIES_AT_ONCE = 1 << 15
"""Probabilities that are worked on at once, so that they stay in the cache."""
TILE = 512
"""Rows and columns of a tile of a Gram matrix: one product, one pass of the function."""
MIRRORED_ROWS = 64
"""Rows that are mirrored together."""
CODED_ROWS = 4096
"""Rows of bits that are looked at together."""
DIFFERENCES_ROWS = 128
"""Rows of a sparse block whose differences are taken together."""
ONE_BLOCK = 60_000
"""Entries up to which a matrix is one block."""
MANY_LANES = 8_000_000
"""Entries from which many lanes are worth their calls."""
PAIRS_PER_COLUMN = 16
"""Times as many pairs of classes as of columns, from which columns are gone through."""
SOFTMAX_ROWS = 1 << 13
"""Rows whose probabilities are found together."""
EXACT_IN_CACHE = 1 << 15
"""Integers that stay in the cache."""
PROOF_PIECE = 1 << 18
"""Entries of a piece of a proof: from two of them on threads share the work."""
PROOF_THREADS = 300_000
"""Entries of a machine from which threads bring a proof more than they cost."""
REFEREE_VALUES = 1 << 17
"""Kernel values that a proof works on together."""
ADDITIVE_CACHE = 1 << 18
"""Bytes of the other side that are worked on together; they stay in the cache."""
WALKED_AT_ONCE = 16_384
"""Rows near the corner that are looked at together."""


def second_thread(entry: float) -> int:
    """Entries of this cost from which a second thread is worth its start.

    >>> second_thread(PLANE)
    400000
    """
    return round(SECOND_THREAD / entry)
