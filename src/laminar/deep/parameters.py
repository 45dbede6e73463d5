"""`DeepParameters`: the parameters that models of several layers share, and which of them go together."""

from __future__ import annotations

from numbers import Integral, Real

from sklearn.utils._param_validation import Interval, StrOptions

from .._base.output import OUTPUT
from .._base.parameters import refuse_unused
from .._engine.starts import STARTS
from .layered import Layered
from .nonlinear import ACTIVATIONS, Activation


class DeepParameters(Layered):
    """Base of the models of several layers: constraints on their parameters."""

    _parameter_constraints: dict = {
        "layers": ["array-like", Integral, None],
        "objective": [StrOptions({"reconstruction", "coupled"})],
        "coupling": [Interval(Real, 0, None, closed="neither")],
        "scale": [StrOptions({"auto", "invariant", "none"})],
        "ridge": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "activation": [StrOptions(set(ACTIVATIONS) - {"identity"}), Activation, None],
        "hidden": [StrOptions({"free", "nonnegative"})],
        "solver": [StrOptions({"auto", "hals", "mu", "apg", "lbfgs", "adam", "sgd"})],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "pretraining": [StrOptions({"wsf", "semi-nmf"}), None],
        "pretraining_max_iter": [Interval(Integral, 0, None, closed="left"), None],
        "init": [StrOptions({"auto", *STARTS})],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "eta": [Interval(Real, 0, 1, closed="right"), None],
        "rule": [StrOptions({"fast", "published"})],
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        **OUTPUT,
        "callback": [callable, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    # ---- which algorithm -----------------------------------------------------------------------------------------

    @property
    def _network(self) -> bool:
        """Whether hidden codes are functions of the top ones, and the weights are trained by gradients."""
        return self.activation is not None or self.solver in ("adam", "sgd")

    @property
    def _streams(self) -> bool:  # type: ignore[override]
        """Whether the fit consists of products with X: networks, batches and published rules need rows of it."""
        return not self._network and self.batch_size is None and self.rule == "fast"

    @property
    def _invariant(self) -> bool:
        """Whether penalties are multiplied by the sizes of the components."""
        return self.scale == "invariant" or (self.scale == "auto" and self.rule == "fast")

    def _check_combination(self, init) -> None:
        """Refuse what cannot be combined, and parameters that another one leaves without effect."""
        published, coupled = self.rule == "published", self.objective == "coupled"
        if published and coupled:
            raise ValueError('rule="published" fine-tunes the reconstruction: use objective="reconstruction".')
        if published and self.batch_size is not None:
            raise ValueError('rule="published" uses all samples: use batch_size=None, or rule="fast".')
        if published and self.scale == "invariant":
            raise ValueError('rule="published" has the penalty as printed: use scale="auto", or rule="fast".')
        if published and self.solver != "auto":
            raise ValueError(f'rule="published" has its own updates: use solver="auto", not "{self.solver}".')
        if coupled and (self._network or self.batch_size is not None):
            raise ValueError(
                'objective="coupled" has codes of every layer as variables: use activation=None, batch_size=None and '
                'solver="auto", "hals", "mu" or "apg".'
            )
        if coupled and self.scale == "none":
            raise ValueError('objective="coupled" has no minimiser with scale="none": use scale="invariant".')
        if self._network:
            allowed: tuple[str, ...] = ("adam", "sgd")
            if self.activation is not None:
                allowed = ("auto", "lbfgs", "apg", *allowed)
        else:
            allowed = ("auto", "hals", "mu", "apg")
        if self.solver not in allowed:
            what = "with an activation" if self.activation is not None else "without an activation"
            raise ValueError(f'solver="{self.solver}" is not for a model {what}: use one of {", ".join(allowed)}.')
        if self.activation is not None and self.batch_size is not None and self.solver not in ("auto", "adam", "sgd"):
            raise ValueError(f'batch_size={self.batch_size} needs solver="adam" or "sgd", got "{self.solver}".')
        if published or self._network:
            refuse_unused(self, ["ridge"], 'it is that of a linear model and rule="fast"')
        if not coupled:
            refuse_unused(self, ["coupling"], 'it weighs the layers of objective="coupled"')
        if self.activation is None:
            refuse_unused(self, ["hidden"], "hidden codes of a model without activation are non-negative")
        if self.activation is not None or (not published and self.solver != "mu"):
            refuse_unused(
                self, ["eta"], "it is the exponent of the multiplicative update, which this model does not use"
            )
        if self.pretraining is None or init is not None:
            why = "there is no pre-training" + (" with fit(init=...)" if init is not None else "")
            refuse_unused(self, ["pretraining_max_iter"], why)
        if init is not None:
            refuse_unused(self, ["init", "pretraining"], "the weights are those of fit(init=...)")
