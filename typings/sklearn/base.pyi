"""The types stand where the checker of a caller finds them, too."""

from linsep._sklearn import BaseEstimator as BaseEstimator
from linsep._sklearn import ClassifierMixin as ClassifierMixin
from linsep._sklearn import ClassNamePrefixFeaturesOutMixin as ClassNamePrefixFeaturesOutMixin
from linsep._sklearn import DensityMixin as DensityMixin
from linsep._sklearn import MetaEstimatorMixin as MetaEstimatorMixin
from linsep._sklearn import RegressorMixin as RegressorMixin
from linsep._sklearn import TransformerMixin as TransformerMixin
from linsep._sklearn import clone as clone
from linsep._sklearn import is_classifier as is_classifier
from linsep._sklearn import is_regressor as is_regressor
