"""Run the benchmarks: ``python -m benchmarks [kernels semi nmf kl penalties deep nonlinear ...]``; all by default."""

from __future__ import annotations

import argparse
import sys
import time

from .coreg import rows_coreg
from .deep import rows_deep
from .defaults import rows_defaults
from .harness import show
from .kernels import rows_kernels
from .models import rows_kl, rows_nmf, rows_semi
from .nonlinear import rows_nonlinear
from .penalties import rows_penalties
from .quality import rows_quality
from .scaling import rows_scaling
from .view_speed import rows_views

SECTIONS = {
    "kernels": rows_kernels,
    "semi": rows_semi,
    "nmf": rows_nmf,
    "defaults": rows_defaults,
    "kl": rows_kl,
    "penalties": rows_penalties,
    "deep": rows_deep,
    "nonlinear": rows_nonlinear,
    "views": rows_views,
    "coreg": rows_coreg,
    "scaling": rows_scaling,
    "quality": rows_quality,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], help="which tables; all by default")
    wanted = parser.parse_args().sections or list(SECTIONS)
    rows = []
    for name in wanted:
        began = time.perf_counter()
        for row in SECTIONS[
            name
        ]():  # each is shown as soon as it is known: a long run that dies has not been for nothing
            rows.append(row)
            print(
                f"{row.work} | {row.against} | {row.ratio:.3g} {row.verdict} | {row.note}", file=sys.stderr, flush=True
            )
        print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    show(rows)
    missed = sum(row.verdict == "MISSED" for row in rows)
    print(f"{missed} of {sum(row.target is not None for row in rows)} requirements missed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
