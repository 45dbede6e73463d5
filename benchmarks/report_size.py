"""Size of a report: ``python -m benchmarks.report_size``; 3000 faces of 32 x 32, `AttributeLayers` of four layers.

Maps are principal scores, which take as many bytes as those of t-SNE.
"""

from __future__ import annotations

import numpy as np
import pandas

from laminar import AttributeLayers
from laminar.datasets import make_faces

ATTRIBUTES = ("identity", "pose", "light")
SHARE = 0.1  # of the labels that the model is given


def main() -> None:
    """Make the report and print its size."""
    faces = make_faces(n_identities=50, n_poses=6, n_lights=10, size=32, random_state=0)
    truth = pandas.DataFrame({name: [faces.names[name][i] for i in faces[name]] for name in ATTRIBUTES})
    given = truth.where(np.random.default_rng(0).random(truth.shape) < SHARE, None)
    model = AttributeLayers(random_state=0).fit(faces.X, given)
    report = model.report(faces.X, labels=truth, given=given, image_shape=faces.image_shape, noun="face", map="pca")
    layers = ", ".join(f"{layer['name']} ({layer['size']})" for layer in report.record["layers"])
    print(f"{report.title}: {layers}; {len(report.html.encode()) / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
