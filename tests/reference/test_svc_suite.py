"""scikit-learn's own tests of SVC, run with KernelSVM in its place."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import linsep

suite = pytest.importorskip("sklearn.svm.tests.test_svm")

# the names of SVC's parameters; what KernelSVM has no use for is only kept
DEFAULTS = {
    "C": 1.0, "kernel": "rbf", "degree": 3, "gamma": "scale", "coef0": 0.0, "shrinking": True,
    "probability": False, "tol": 1e-3, "cache_size": 200, "class_weight": None, "verbose": False,
    "max_iter": -1, "decision_function_shape": "ovr", "break_ties": False, "random_state": None,
}  # fmt: skip
USED = {
    "rbf": {"gamma"}, "poly": {"gamma", "coef0", "degree"}, "sigmoid": {"gamma", "coef0"},
}  # fmt: skip


class SVC(linsep.KernelSVM):
    """KernelSVM with the parameters of SVC."""

    def __init__(
        self, *, C=1.0, kernel="rbf", degree=3, gamma="scale", coef0=0.0, shrinking=True,
        probability=False, tol=1e-3, cache_size=200, class_weight=None, verbose=False,
        max_iter=-1, decision_function_shape="ovr", break_ties=False, random_state=None,
    ):  # fmt: skip
        given = {name: value for name, value in locals().items() if name in DEFAULTS}
        for name, value in given.items():
            setattr(self, name, value)

    def fit(self, X, y, sample_weight=None):
        names = USED.get(self.kernel, set()) if isinstance(self.kernel, str) else set()
        own = {name: getattr(self, name) for name in names}
        own |= {"max_iter": self.max_iter} if self.max_iter > 0 else {}
        model = linsep.KernelSVM(
            C=self.C, kernel=self.kernel, tol=self.tol, class_weight=self.class_weight,
            decision_function_shape=self.decision_function_shape, random_state=self.random_state,
            calibrate="sigmoid" if self.probability else None, **own,
        )  # fmt: skip
        model.fit(X, y, sample_weight)
        self.__dict__.update(
            {k: v for k, v in vars(model).items() if k not in {*DEFAULTS, "calibrate"}}
        )
        self.shape_fit_ = np.shape(X)
        return self

    @property
    def calibrate(self):
        return "sigmoid" if self.probability else None

    @property
    def coef_(self):
        return self.pair_coef_

    @property
    def _precomputed(self):
        return isinstance(self.kernel, str) and self.kernel == "precomputed"


AS_THEY_ARE = [
    "test_auto_weight", "test_consistent_decision_function", "test_decision_function",
    "test_decision_function_shape", "test_decision_function_shape_two_class", "test_libsvm_iris",
    "test_libsvm_parameters", "test_ovr_decision_function", "test_precomputed",
    "test_probability", "test_svc_bad_kernel", "test_svc_clone_with_callable_kernel",
    "test_svm_classifier_sided_sample_weight", "test_svm_equivalence_sample_weight_C",
    "test_svm_with_infinite_C", "test_unfitted", "test_weight",
]  # fmt: skip

OTHERWISE = {
    "test_custom_kernel_not_array_input": "rows are numbers; texts come as a Gram matrix",
    "test_bad_input": "sparse rows may be predicted by a model of dense ones",
    "test_gamma_scale": "looks into _gamma; kernel_ has the number here",
    "test_hasattr_predict_proba": "another error where probabilities are asked for after the fit",
    "test_immutable_coef_property": "the weights are a new array each time",
    "test_libsvm_convergence_warnings": "two working sets solve what takes SVC more steps",
    "test_n_iter_libsvm": "one number of working sets, not one for each pair",
    "test_negative_sample_weights_mask_all_samples": "negative weights are refused",
    "test_negative_weight_equal_coeffs": "negative weights are refused",
    "test_negative_weights_svc_leave_just_one_label": "negative weights are refused",
    "test_negative_weights_svc_leave_two_labels": "negative weights are refused",
    "test_probability_raises_futurewarning": "about a parameter of SVC",
    "test_sparse_precomputed": "a sparse Gram matrix is a Gram matrix",
    "test_svc_invalid_break_ties_param": "ties of votes are always broken by the values",
    "test_svc_nonfinite_params": "numbers of 1e308 are solved, not refused",
    "test_svc_nusvc_probA_probB_deprecated": "about attributes of SVC",
    "test_svc_ovr_tie_breaking": "ties of votes are always broken by the values",
    "test_svc_raises_error_internal_representation": "about the inside of SVC",
    "test_tweak_params": "changes _dual_coef_; dual_coef_ counts here",
}
ARGUMENTS = {
    "global_random_seed": 42, "Estimator": SVC, "SVM": SVC, "C_inf": np.inf,
    "make_dataset": getattr(suite, "make_classification", None),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", AS_THEY_ARE)
def test_of_svc(name, monkeypatch):
    monkeypatch.setattr(suite.svm, "SVC", SVC)
    test = getattr(suite, name, None)
    if test is None:
        pytest.skip("this scikit-learn has no such test")
    wanted = inspect.signature(test).parameters
    test(**{key: SVC(C=1e-2) if key == "estimator" else ARGUMENTS[key] for key in wanted})


def test_all_tests_of_svc_are_considered():
    found = set()
    for name, test in vars(suite).items():
        if name.startswith("test_"):
            source = inspect.getsource(test).replace("LinearSVC(", "").replace("NuSVC(", "")
            found |= {name} if "SVC(" in source or "svm.SVC" in source else set()
    assert found <= set(AS_THEY_ARE) | set(OTHERWISE)
