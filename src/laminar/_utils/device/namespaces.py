"""Arrays of the libraries that follow the array API standard: where they are, and from and to numpy's."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ..extras import require

LIBRARIES = ("torch", "cupy", "dpnp", "array_api_strict")
"""Those whose arrays can be written to, as the iterations do."""

DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "float32", "float64")


def is_tensor(X: Any) -> bool:
    """Whether X is an array of one of these libraries; none of them is imported for it."""
    return type(X).__module__.partition(".")[0] in LIBRARIES and hasattr(X, "shape") and hasattr(X, "dtype")


@dataclass(frozen=True)
class Device:
    """A device and the library whose arrays are on it.

    Attributes
    ----------
    library : str
        One of `LIBRARIES`.
    name : object
        The device, as the library gives it.
    """

    library: str
    name: Hashable

    @classmethod
    def of(cls, X: Any) -> Device | None:
        """Return where an array is; None for anything but an array of these libraries."""
        if not is_tensor(X):
            return None
        return cls(type(X).__module__.partition(".")[0], X.device)

    @property
    def is_memory(self) -> bool:
        """Whether arrays there are in memory that numpy can use."""
        if self.library == "torch":
            return getattr(self.name, "type", "") == "cpu"
        return self.library == "array_api_strict" and str(self.name).find("CPU_DEVICE") >= 0

    @property
    def xp(self) -> Any:
        """The namespace of the array API."""
        return _namespace(self.library)

    # ---- types ---------------------------------------------------------------------------------------------------

    @property
    def double(self) -> np.dtype:
        """The type of sums: double precision, or single on a device that has no other."""
        return np.dtype(np.float64 if _has_double(self) else np.float32)

    def dtype(self, dtype) -> Any:
        """Return the library's type for one of numpy."""
        return _types(self.library)[0][self.own(dtype)]

    def own(self, dtype) -> np.dtype:
        """Return the type that stands for one of numpy on this device."""
        dtype = np.dtype(dtype)
        return self.double if dtype == np.float64 else dtype

    def numpy_dtype(self, dtype: Any) -> np.dtype:
        """Return numpy's type for one of the library; one that numpy lacks, as bfloat16, is single precision."""
        return _types(self.library)[1].get(dtype, np.dtype(np.float32))

    # ---- from and to numpy ---------------------------------------------------------------------------------------

    def send(self, array: Any, *, copy: bool | None = None) -> Any:
        """Return an array of numpy, or a number, as one of the library on the device; one in memory may be shared."""
        array = np.asarray(array)
        array = np.ascontiguousarray(array, dtype=self.own(array.dtype)).reshape(array.shape)
        copy = True if not array.flags.writeable else copy
        return self.xp.asarray(array, dtype=self.dtype(array.dtype), device=self.name, copy=copy)

    def to_host(self, X: Any) -> np.ndarray:
        """Return an array of the library as one of numpy; without a copy where it is in memory."""
        if self.library == "torch":
            X = X.detach().cpu()
            return (X.float() if str(X.dtype) == "torch.bfloat16" else X).numpy()
        if self.library == "array_api_strict":
            return np.asarray(self.xp.asarray(X, device=self.xp.Device("CPU_DEVICE")))
        return X.get() if self.library == "cupy" else X.asnumpy()

    def __str__(self) -> str:
        return f"{self.library} device {self.name}"


@cache
def _namespace(library: str) -> Any:
    adapted = library in ("torch", "cupy")  # the others follow the standard themselves
    return require(f"array_api_compat.{library}" if adapted else library, "torch", "a fit on tensors")


@cache
def _types(library: str) -> tuple[dict[np.dtype, Any], dict[Any, np.dtype]]:
    xp = _namespace(library)
    pairs = [(np.dtype(name), getattr(xp, name)) for name in DTYPES]
    return dict(pairs), {theirs: ours for ours, theirs in pairs}


@cache
def _has_double(device: Device) -> bool:
    try:
        device.xp.zeros(1, dtype=device.xp.float64, device=device.name)
    except Exception:  # every library has another error for what a device lacks
        return False
    return True


def to_host(X: Any) -> Any:
    """Return an array of another library as one of numpy; anything else as it is."""
    device = Device.of(X)
    return X if device is None else device.to_host(X)
