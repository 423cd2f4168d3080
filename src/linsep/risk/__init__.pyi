"""Public names of ``linsep.risk``, their homes and types; see ``linsep/__init__.pyi``."""

# Known distributions
from linsep.risk.bayes import bayes_risk as bayes_risk
from linsep.risk.bayes import bayes_strategy as bayes_strategy
from linsep.risk.bayes import BayesStrategy as BayesStrategy
from linsep.risk.games import minimax as minimax
from linsep.risk.games import Minimax as Minimax
from linsep.risk.likelihood_ratio import neyman_pearson as neyman_pearson
from linsep.risk.likelihood_ratio import NeymanPearson as NeymanPearson
from linsep.risk.likelihood_ratio import ThresholdRule as ThresholdRule
from linsep.risk.continuous import DensityStrategy as DensityStrategy

# Data
from linsep.risk.empirical import empirical_risk as empirical_risk
from linsep.risk.empirical import EmpiricalRisk as EmpiricalRisk
from linsep.risk.least_errors import minimum_errors as minimum_errors
from linsep.risk.least_errors import LeastErrors as LeastErrors
from linsep.risk.capacity import counted_margin as counted_margin
from linsep.risk.capacity import CountedMargin as CountedMargin

# Capacity
from linsep.risk.capacity import vc_dimension as vc_dimension
from linsep.risk.capacity import VCDimension as VCDimension
from linsep.risk.structural import compare_margins as compare_margins
from linsep.risk.structural import MarginTable as MarginTable
from linsep.risk.capacity import enclosing_ball as enclosing_ball
from linsep.risk.capacity import EnclosingBall as EnclosingBall
from linsep.risk.capacity import cover_count as cover_count
from linsep.risk.capacity import cover_probability as cover_probability

# Densities
from linsep.risk.density_rules import plug_in as plug_in
from linsep.risk.density_rules import PlugInClassifier as PlugInClassifier
from linsep.risk.density_rules import Histogram as Histogram
from linsep.risk.families import excess_bound as excess_bound
from linsep.risk.families import excess_risk as excess_risk
from linsep.risk.families import wrong_family as wrong_family
from linsep.risk.families import WrongFamily as WrongFamily

# Linear Bayes rules
from linsep.risk.linear_rules import gaussian_weights as gaussian_weights
from linsep.risk.linear_rules import bernoulli_weights as bernoulli_weights
from linsep.risk.linear_rules import LogisticRule as LogisticRule
from linsep.risk.linear_rules import logit as logit
from linsep.risk.linear_rules import inverse_logit as inverse_logit
from linsep.risk.linear_rules import odds as odds
from linsep.risk.linear_rules import probability as probability

# Promises
from linsep.risk.structural import structural_bound as structural_bound
from linsep.risk.structural import StructuralBound as StructuralBound
from linsep.risk.structural import structural_minimum as structural_minimum
from linsep.risk.structural import StructuralMinimum as StructuralMinimum
from linsep.risk.novikoff import kozinec_bound as kozinec_bound
from linsep.risk.novikoff import novikoff_bound as novikoff_bound
from linsep.risk.novikoff import NovikoffBound as NovikoffBound
