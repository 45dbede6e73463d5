"""Types of arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

Data: TypeAlias = ArrayLike | sp.sparray | sp.spmatrix  # samples as rows
ViewData: TypeAlias = Data | Sequence[Data | None] | Mapping  # matrices with the same samples, or all side by side
Seed: TypeAlias = int | np.random.RandomState | None
