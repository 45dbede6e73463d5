"""One representation of several views of the same samples."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .. import published_views, threads
from ..agreement import agreement_weights, view_graph
from ..base import Layer
from ..callbacks import CallbackSupportMixin, hooks, with_callbacks
from ..consensus import Consensus, Task, agree, agree_and_weigh, corners, readout_basis
from ..constraints import Free, NonNegative
from ..data import Matrix, wrap
from ..graph_clusters import GraphClusters
from ..graphs import KNN, Graph, Labels, Rank
from ..graphs.operators import SumOperator
from ..graphs.specs import check_choice
from ..labels import read_labels
from ..penalties import Smooth
from ..readout import Clusters, isometry, unit_rows
from ..solve import Callback
from ..stacked import Normalized, Stacked, isometric
from ..stacks import hidden_layers
from ..view_coding import ViewCoder
from ..views import Views
