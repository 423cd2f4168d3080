"""Inner loop of the rule of Widrow and Hoff."""

# mypy: ignore-errors

from __future__ import annotations

from linsep.jit.compile import routine
from linsep.jit.rows import sample_scores, sample_spread

# Places in the array of counters.
POSITION, VISITS = range(2)


@routine
def visit(X, aims, weights, bias, order, rates, W, offset, scores, counters, steps, log):
    """Visit up to ``steps`` rows of one pass and move each score towards its aim.

    W has one column a class and one row a feature. Stops at the end of the pass, of the rates
    or of the log, and where a score is no number: then it gives back the negative count.
    """
    n = order.shape[0]
    K = offset.shape[0]
    taken = 0
    while taken < steps and counters[POSITION] < n:
        if rates.shape[0] > 1 and taken == rates.shape[0]:
            break
        i = order[counters[POSITION]]
        for k in range(K):
            scores[k] = bias * offset[k]
        sample_scores(X, i, W, scores)
        rate = rates[0] if rates.shape[0] == 1 else rates[taken]
        first = scores[0]
        for k in range(K):
            scores[k] = rate * weights[i] * (aims[i, k] - scores[k])
            if scores[k] - scores[k] != 0.0:
                return -1 - taken
        sample_spread(X, i, scores, W)
        for k in range(K):
            offset[k] += bias * scores[k]
        counters[POSITION] += 1
        counters[VISITS] += 1
        taken += 1
        if log.whole.shape[0] > 0:
            used = log.used[0]
            log.whole[used, 0] = counters[VISITS]
            log.whole[used, 1] = counters[VISITS]
            log.whole[used, 2] = i if K == 1 else i * (K - 1)  # as reflected rows are counted
            log.real[used, 0] = first if aims[i, 0] > 0.0 else -first
            log.real[used, 1] = rate
            log.used[0] = used + 1
            if used + 1 == log.whole.shape[0]:
                break
    return taken
