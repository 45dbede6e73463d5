"""Features of images, as scikit-learn transformers over scikit-image and OpenCV (extra ``images``)."""

from .gabor import GaborMagnitudes
from .geometry import AlignLandmarks, Crop, Resize
from .gradients import GradientOrientations
from .lbp import LocalBinaryPatterns
from .pixels import Pixels
from .sift import SiftBagOfWords
from .three_views import views_from_images

__all__ = [
    "AlignLandmarks",
    "Crop",
    "GaborMagnitudes",
    "GradientOrientations",
    "LocalBinaryPatterns",
    "Pixels",
    "Resize",
    "SiftBagOfWords",
    "views_from_images",
]
