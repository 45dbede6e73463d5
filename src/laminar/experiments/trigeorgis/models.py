"""The models that Trigeorgis et al. compare, and how large they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminar import GNMF, NMF, DeepSemiNMF, MultiLayerNMF, SemiNMF
from laminar.recipes import trigeorgis as published

if TYPE_CHECKING:
    from ..run import Run

COMPONENTS = (20, 30, 40, 50, 60, 70)


def models(k: int, first: int) -> dict[str, dict[str, Any]]:
    """Return the models of Table 1 and of Figs. 4 to 6: as published, and with Laminar's defaults."""
    return {
        "Deep Semi-NMF": {"published": published.deep_semi_nmf(k, first), "laminar": DeepSemiNMF((first, k))},
        "GNMF": {"published": published.gnmf(k), "laminar": GNMF(k)},
        "Multi-layer NMF": {"published": published.multi_layer_nmf(k, first), "laminar": MultiLayerNMF((first, k))},
        "NMF (MUL)": {"published": published.nmf_mul(k), "laminar": NMF(k)},
        "NeNMF": {"published": published.nenmf(k), "laminar": NMF(k, solver="apg")},
        "Semi-NMF": {"published": published.semi_nmf(k), "laminar": SemiNMF(k)},
    }


def setting(run: Run, n: int) -> tuple[tuple[int, ...], int, dict[str, int]]:
    """Return the components, the size of the first layer, and the limit of a run in small."""
    return ((20, 30), min(60, n // 2), {"max_iter": 10}) if run.quick else (COMPONENTS, min(625, n), {})
