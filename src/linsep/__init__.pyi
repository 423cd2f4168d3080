"""Public names, their homes and types: one line for each, which linsep itself reads as well.

Every line has the form ``from home import Name as Name`` and stands under the title of its kind.
"""

# Estimators: in the order of ``linsep algorithms``
from linsep.models.perceptron import Perceptron as Perceptron
from linsep.models.kozinec import Kozinec as Kozinec
from linsep.models.least_squares import LeastSquares as LeastSquares
from linsep.models.ho_kashyap import HoKashyap as HoKashyap
from linsep.models.logistic_regression import LogisticRegression as LogisticRegression
from linsep.models.gaussian import GaussianClassifier as GaussianClassifier
from linsep.models.linear_svm import LinearSVM as LinearSVM
from linsep.models.kernel_svm import KernelSVM as KernelSVM
from linsep.models.kernel_perceptron import KernelPerceptron as KernelPerceptron
from linsep.models.additive_svm import AdditiveSVM as AdditiveSVM
from linsep.multiclass.one_vs_rest import OneVsRest as OneVsRest
from linsep.multiclass.one_vs_one import OneVsOne as OneVsOne
from linsep.multiclass.kesler import Kesler as Kesler

# Displays: pictures
from linsep.display.choice import ChoiceDisplay as ChoiceDisplay
from linsep.display.cost import CostDisplay as CostDisplay
from linsep.display.decision import DecisionDisplay as DecisionDisplay
from linsep.display.gram import GramDisplay as GramDisplay
from linsep.display.hull import HullDisplay as HullDisplay
from linsep.display.lift import LiftDisplay as LiftDisplay
from linsep.display.lift_frames import LiftFramesDisplay as LiftFramesDisplay
from linsep.display.logistic_curve import LogisticCurveDisplay as LogisticCurveDisplay
from linsep.display.neuron import NeuronDisplay as NeuronDisplay
from linsep.display.novikoff import NovikoffDisplay as NovikoffDisplay
from linsep.display.probability import ProbabilityDisplay as ProbabilityDisplay
from linsep.display.reflection import ReflectionDisplay as ReflectionDisplay
from linsep.display.regions import RegionsDisplay as RegionsDisplay
from linsep.display.trace import TraceDisplay as TraceDisplay
from linsep.display.triptych import TriptychDisplay as TriptychDisplay
from linsep.display.weight_space import WeightSpaceDisplay as WeightSpaceDisplay

# Functions: what can be asked
from linsep.separating.verdict import separability as separability
from linsep.separating.separators import separators as separators
from linsep.models.foreign.certify import certify as certify
from linsep.tracing.record import trace as trace
from linsep.lab.start import lab as lab
from linsep.choosing.choose import choose as choose
from linsep.study.run import study as study
from linsep.multiclass.regions import regions as regions
from linsep.models.svm_path import svm_path as svm_path
from linsep.models.kernel_large import approximate as approximate
from linsep.formats import save as save
from linsep.formats import load as load
from linsep.core.drive import drive as drive
from linsep.solvers.descent import descend as descend
from linsep.core.augment import augment as augment
from linsep.core.augment import reflect as reflect

# Values: what they take and give
from linsep.choosing.choose import Choice as Choice
from linsep.solvers.descent import Descent as Descent
from linsep.lift.transformer import Lift as Lift
from linsep.models.linear import Linear as Linear
from linsep.core.problem import Problem as Problem
from linsep.proofs.separable import Proof as Proof
from linsep.multiclass.regions import Regions as Regions
from linsep.separating.separators import Separators as Separators
from linsep.core.protocol import Status as Status
from linsep.tracing.trace import Step as Step
from linsep.study.result import Study as Study
from linsep.tracing.trace import Trace as Trace

# Modules: with public names of their own
from linsep import core as core
from linsep import criteria as criteria
from linsep import data as data
from linsep import errors as errors
from linsep import kernels as kernels
from linsep import lift as lift
from linsep import losses as losses
from linsep import multiclass as multiclass
from linsep import risk as risk
from linsep import tables as tables

import linsep._public

PUBLIC: linsep._public.PublicNames
__version__: str
