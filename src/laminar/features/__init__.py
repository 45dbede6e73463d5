"""Features of images, as scikit-learn transformers over scikit-image and OpenCV (extra ``images``)."""

from .gabor import GaborMagnitudes
from .gradients import GradientOrientations
from .lbp import LocalBinaryPatterns
from .pixels import Pixels
from .sift import SiftBagOfWords
from .three_views import views_from_images

__all__ = [
    "GaborMagnitudes",
    "GradientOrientations",
    "LocalBinaryPatterns",
    "Pixels",
    "SiftBagOfWords",
    "views_from_images",
]
