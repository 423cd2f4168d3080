"""Certificates that prove themselves again.

The certificate of a table is a few facts; the weights and dual variables that prove them are the
model's. So a model hands its certificate out with a way back to what it was then, and ``check``
computes every fact anew from the rows it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Self

from linsep.errors import ModelError, ProofError

Prover = Callable[[Any, Any, Any], list[str]]
"""From rows, labels and weights to what does not hold for them."""


class Checkable:
    """A certificate that can be held against rows."""

    _prover: Prover | None = None

    def check(self, X: Any, y: Any = None, sample_weight: Any = None) -> bool:
        """Compute every fact anew from the rows, and hold it against this one.

        Parameters
        ----------
        X, y : array, sparse matrix or frame, and labels
            The rows that the model was fitted to; a stream has its labels in it.
        sample_weight : array, optional
            The weights of the fit.

        Returns
        -------
        bool
            True; ``ProofError`` names whatever does not hold.
        """
        try:
            wrong = self.prover(X, y, sample_weight)
        except ModelError as error:
            wrong = [str(error).rstrip(".")]
        if wrong:
            raise ProofError(f"the certificate does not hold for these rows: {'; '.join(wrong)}.")
        return True

    @property
    def prover(self) -> Prover:
        """Who can prove it: the model as it was."""
        if self._prover is None:
            raise ProofError(
                "this certificate has left its model, which has the weights; ask "
                "model.certificate_.check(X, y), or linsep.certify(model, X, y)."
            )
        return self._prover

    def provable(self, prover: Prover) -> Self:
        """The same certificate, with who can prove it."""
        out = object.__new__(type(self))
        vars(out).update(vars(self), _prover=prover)
        return out

    def __getstate__(self) -> dict[str, Any]:
        """Its facts: a copy on disk does not hold the model."""
        return {name: value for name, value in vars(self).items() if name != "_prover"}


class Claiming(Protocol):
    """A model that can hold what it claims against rows."""

    def _refuted(self, X: Any, y: Any, sample_weight: Any) -> list[str]: ...


class HandedOut:
    """The attribute ``certificate_``: facts, kept as they are, that find their model again.

    The model is held as it was when it was asked; a later fit changes nothing about that.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, model: Claiming | None, owner: type | None = None) -> Any:
        if model is None:
            return self
        try:
            facts = vars(model)[self.name]
        except KeyError:
            raise AttributeError(
                f"{type(model).__name__!r} object has no attribute {self.name!r}"
            ) from None
        if not isinstance(facts, Checkable):
            return facts
        then = object.__new__(type(model))
        vars(then).update(vars(model))
        return facts.provable(then._refuted)

    def __set__(self, model: Claiming, facts: Any) -> None:
        vars(model)[self.name] = facts

    def __delete__(self, model: Claiming) -> None:
        vars(model).pop(self.name, None)


def handed_out() -> Any:
    """The descriptor; its attribute has the type that the class says."""
    return HandedOut()
