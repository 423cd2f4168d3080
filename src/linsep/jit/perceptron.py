"""Inner loops of the perceptron rules."""

# mypy: ignore-errors

from __future__ import annotations

from linsep.jit.compile import inner, routine
from linsep.jit.rows import add, dot, norm2, weight

# Places in the array of counters.
POSITION, EPOCH, VISITS, UPDATES, CLEAN, PASS_UPDATES, STOP = range(7)
BEST_VISIT, BEST_RUN, BEST_UPDATE, CHECKED = range(7, 11)
ANCHOR_VISITS, ANCHOR_UPDATES, POWER, SINCE_ANCHOR = range(11, 15)
N_COUNTERS = 15

# Values of counters[STOP]: why the loop cannot or need not go on.
GO, CLEAN_RUN, CLEAN_PASS, ZERO_ROW, OVERFLOW, REPEATED, TOO_MANY, NO_BETTER, ENOUGH = range(9)
END_OF_PASS, LOG_FULL, RATES_USED = range(9, 12)

# What to remember.
LAST, POCKET, RATCHET, AVERAGE = range(4)


@inner
def weigh_errors(rows, n, a, strict, most):
    """Total weight of the misclassified rows, or at least ``most`` as soon as it is reached."""
    cost = 0.0
    for v in range(n):
        value = dot(rows, v, a)
        if value < 0.0 or (value == 0.0 and not strict):
            cost += weight(rows, v)
            if cost >= most:
                break
    return cost


@inner
def same(a, b):
    """Whether two vectors are equal."""
    j = 0
    while j < a.shape[0] and a[j] == b[j]:
        j += 1
    return j == a.shape[0]


@inner
def keep_if_better(rows, n, a, strict, counters, best, best_cost):
    """Pocket: keep the weights if they make strictly fewer errors than the kept ones."""
    cost = weigh_errors(rows, n, a, strict, best_cost[0])
    if cost < best_cost[0]:
        best_cost[0] = cost
        counters[BEST_RUN] = counters[CLEAN]
        counters[BEST_UPDATE] = counters[UPDATES]
        counters[BEST_VISIT] = counters[VISITS]
        for j in range(a.shape[0]):
            best[j] = a[j]


@inner
def watch_for_repeat(a, counters, anchor):
    """Brent's cycle search: compare with a state that is moved on at powers of two."""
    if counters[POWER] > 0 and same(a, anchor):
        counters[STOP] = REPEATED
        return
    counters[SINCE_ANCHOR] += 1
    if counters[SINCE_ANCHOR] >= counters[POWER]:
        counters[POWER] = max(1, 2 * counters[POWER])
        counters[SINCE_ANCHOR] = 0
        counters[ANCHOR_VISITS] = counters[VISITS]
        counters[ANCHOR_UPDATES] = counters[UPDATES]
        for j in range(a.shape[0]):
            anchor[j] = a[j]


@routine
def visit(rows, order, rule, rates, a, counters, best, best_cost, total, anchor, steps, log):
    """Visit up to ``steps`` rows in the given order and correct the weights on mistakes.

    rule = (strict, restart, whole_pass, repeats, keep, rates_from, most_updates, patience, few):
    whether a value of zero counts as right, whether to begin again at the first row after an
    update, whether only a clean pass ends the run, whether to look for repeated states, what to
    remember, the number of the update that rates[0] belongs to, and when to give up: after so
    many updates, so many visits without a better pocket, or once the pocket makes so few errors.
    ``rates`` of length one is a constant rate.
    """
    strict, restart, whole_pass, repeats, keep, rates_from, most_updates, patience, few = rule
    n = order.shape[0]
    taken = 0
    counters[STOP] = GO
    while taken < steps and counters[STOP] == GO:
        v = order[counters[POSITION]]
        value = dot(rows, v, a)
        counters[POSITION] += 1
        counters[VISITS] += 1
        taken += 1
        if value > 0.0 or (value == 0.0 and strict):
            counters[CLEAN] += 1
            longer = keep == RATCHET and counters[CLEAN] > counters[BEST_RUN]
            if longer and counters[CHECKED] != counters[UPDATES]:
                counters[CHECKED] = counters[UPDATES]
                keep_if_better(rows, n, a, strict, counters, best, best_cost)
            if value - value != 0.0:
                counters[STOP] = OVERFLOW
            elif counters[CLEAN] >= n and not whole_pass:
                counters[STOP] = CLEAN_RUN
        else:
            if value - value != 0.0:
                counters[STOP] = OVERFLOW
                break
            if value == 0.0 and norm2(rows, v) == 0.0:
                counters[STOP] = ZERO_ROW
                break
            at = counters[UPDATES] - rates_from
            rate = rates[0] if rates.shape[0] == 1 else rates[at]
            step = rate * weight(rows, v)
            add(rows, v, step, a)
            if keep == AVERAGE:
                add(rows, v, step * (counters[VISITS] - 1), total)
            counters[UPDATES] += 1
            counters[PASS_UPDATES] += 1
            counters[CLEAN] = 0
            if keep == POCKET:
                keep_if_better(rows, n, a, strict, counters, best, best_cost)
            if log.whole.shape[0] > 0:
                k = log.used[0]
                log.whole[k, 0] = counters[UPDATES]
                log.whole[k, 1] = counters[VISITS]
                log.whole[k, 2] = v
                log.real[k, 0] = value
                log.real[k, 1] = rate
                log.used[0] = k + 1
                if k + 1 == log.whole.shape[0]:
                    counters[STOP] = LOG_FULL
            if restart:
                counters[POSITION] = 0
                if repeats:
                    watch_for_repeat(a, counters, anchor)
            if rates.shape[0] > 1 and at + 1 == rates.shape[0] and counters[STOP] == GO:
                counters[STOP] = RATES_USED
            if counters[UPDATES] > most_updates:
                counters[STOP] = TOO_MANY
        if counters[VISITS] - counters[BEST_VISIT] > patience and (
            counters[STOP] == GO or counters[STOP] >= END_OF_PASS
        ):
            counters[STOP] = NO_BETTER
        if best_cost[0] <= few and (counters[STOP] == GO or counters[STOP] >= END_OF_PASS):
            counters[STOP] = ENOUGH
        if counters[POSITION] == n:
            if whole_pass and counters[PASS_UPDATES] == 0 and counters[STOP] == GO:
                counters[STOP] = CLEAN_PASS
            counters[POSITION] = 0
            counters[EPOCH] += 1
            counters[PASS_UPDATES] = 0
            if counters[STOP] == GO or counters[STOP] == LOG_FULL:
                if repeats and not restart:
                    watch_for_repeat(a, counters, anchor)
                elif not repeats and counters[STOP] == GO:
                    counters[STOP] = END_OF_PASS
    return taken


@routine
def scan(rows, n, strict, worst_only, a, gradient, wrong):
    """Look at all rows: fill the sum of the misclassified ones and mark them in ``wrong``.

    With worst_only the sum holds the row of smallest value alone.

    Gives back (errors, cost, criterion, worst row, worst value): the number of misclassified
    rows, their weight, the weighted sum of their -z . a, and the row of smallest value.
    """
    for j in range(gradient.shape[0]):
        gradient[j] = 0.0
    errors = 0
    cost = 0.0
    criterion = 0.0
    worst = -1
    worst_value = 0.0
    for v in range(n):
        value = dot(rows, v, a)
        is_wrong = not (value > 0.0 or (value == 0.0 and strict))
        wrong[v] = is_wrong
        if is_wrong:
            w = weight(rows, v)
            errors += 1
            cost += w
            criterion -= w * value
            if not worst_only:
                add(rows, v, w, gradient)
        if v == 0 or value < worst_value:
            worst = v
            worst_value = value
    if worst_only and errors > 0:
        add(rows, worst, weight(rows, worst), gradient)
    return errors, cost, criterion, worst, worst_value
