from . import baselines as baselines
from . import datasets as datasets
from . import features as features
from . import graphs as graphs
from . import metrics as metrics
from . import plots as plots
from . import temporal as temporal
from . import testing as testing
from .attributes.layers import AttributeLayers as AttributeLayers
from .deep.multilayer import MultiLayerNMF as MultiLayerNMF
from .deep.semi import DeepSemiNMF as DeepSemiNMF
from .deep.wsf import DeepWSF as DeepWSF
from .evaluation.selection import select_layers as select_layers
from .evaluation.tables import layer_attribute_table as layer_attribute_table
from .multiview.deep_nmf import MultiViewDeepNMF as MultiViewDeepNMF
from .multiview.multinmf import MultiNMF as MultiNMF
from .nmf.class_driven import ClassDrivenNMF as ClassDrivenNMF
from .nmf.concept import ConceptFactorization as ConceptFactorization
from .nmf.constrained import ConstrainedNMF as ConstrainedNMF
from .nmf.discriminant import DiscriminantNMF as DiscriminantNMF
from .nmf.gnmf import GNMF as GNMF
from .nmf.nmf import NMF as NMF
from .nmf.semi import SemiNMF as SemiNMF
from .nmf.slow import SlowFeatureNMF as SlowFeatureNMF
from .nmf.wsf import WSF as WSF
from .temporal.sfa import SlowFeatureAnalysis as SlowFeatureAnalysis

__version__: str
