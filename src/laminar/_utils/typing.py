"""Types of arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

Data = ArrayLike | sp.sparray | sp.spmatrix  # samples as rows
ViewData = Data | Sequence[Data | None] | Mapping  # several matrices with the same samples, or all side by side
Seed = int | np.random.RandomState | None
