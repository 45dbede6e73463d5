"""`DeviceArray`: a tall array on a device, with the part of numpy's interface that a fit uses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..place import PlacedArray
from .functions import FUNCTIONS
from .namespaces import Device
from .place import DevicePlace

UFUNCS = {
    np.add: "add",
    np.subtract: "subtract",
    np.multiply: "multiply",
    np.divide: "divide",
    np.power: "pow",
    np.negative: "negative",
    np.absolute: "abs",
    np.sqrt: "sqrt",
    np.square: "square",
    np.log: "log",
    np.maximum: "maximum",
    np.minimum: "minimum",
    np.greater: "greater",
    np.greater_equal: "greater_equal",
    np.less: "less",
    np.less_equal: "less_equal",
    np.equal: "equal",
    np.not_equal: "not_equal",
    np.bitwise_and: "bitwise_and",
    np.bitwise_or: "bitwise_or",
    np.invert: "bitwise_invert",
    np.isfinite: "isfinite",
    np.sign: "sign",
}
"""Operations on entries, and their names in the array API."""


class DeviceArray(PlacedArray, NDArrayOperatorsMixin):
    """An array of one row a sample, of one or two dimensions, on a device.

    What has a row for each sample stays there; sums over the samples come back as arrays of numpy. Numbers and small
    arrays of numpy are sent as they are needed. Other operations are a TypeError: nothing tall is copied unasked.

    Parameters
    ----------
    data : array of a library of `Device`
        The entries, which are not copied.
    device : Device
        Where it is.
    """

    def __init__(self, data: Any, device: Device):
        self.data, self.device = data, device
        self.shape, self.dtype = tuple(data.shape), device.numpy_dtype(data.dtype)

    @property
    def workers(self) -> DevicePlace:
        """The device as the place of arrays with as many rows."""
        return DevicePlace(self.device, len(self), DeviceArray)

    @property
    def T(self) -> Transposed:
        """The transpose, for products with tall arrays."""
        return Transposed(self)

    def like(self, data: Any) -> DeviceArray:
        """Return an array of the library on the same device as one of these."""
        return DeviceArray(data, self.device)

    def raw(self, value: Any, dtype=None) -> Any:
        """Return an operand as an array of the library on the device."""
        if not isinstance(value, DeviceArray):
            return self.device.send(np.asarray(value, dtype))
        if dtype is None or value.dtype == self.device.own(dtype):
            return value.data
        return self.device.xp.astype(value.data, self.device.dtype(dtype))

    # ---- rows that come to this process --------------------------------------------------------------------------

    def to_host(self) -> np.ndarray:
        """Return a copy in this process."""
        return np.array(self.device.to_host(self.data))

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return some rows in this process."""
        return self[rows].to_host()

    def host(self, data: Any) -> Any:
        """Return a sum over the samples, or a number, in this process."""
        return np.array(self.device.to_host(data))[()]

    def __array__(self, dtype=None, copy=None):
        raise TypeError("an array on a device is not copied to memory unasked; Laminar has no operation there for this")

    # ---- parts ---------------------------------------------------------------------------------------------------

    def __getitem__(self, at: Any) -> Any:
        rows, *others = at if isinstance(at, tuple) else (at,)
        if isinstance(rows, int | np.integer):
            return self.host(self.data[int(rows), ...] if self.ndim > 1 else self.data[int(rows)])[tuple(others)]
        if others and np.ndim(rows) and np.ndim(others[0]):  # one entry for each pair of a row and a column
            return self.take(rows)[np.arange(len(rows)), others[0]]
        return self._rows(rows)._columns(others)

    def _rows(self, rows: Any) -> DeviceArray:
        if rows is Ellipsis:
            return self
        if isinstance(rows, slice):
            return self.like(self.data[rows, ...] if self.ndim > 1 else self.data[rows])
        if rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        return self.like(self.device.xp.take(self.data, self.raw(rows, np.int64), axis=0))

    def _columns(self, others: list) -> DeviceArray:
        if not others:
            return self
        (columns,) = others
        if columns is None:
            return self.like(self.device.xp.expand_dims(self.data, axis=1))
        if isinstance(columns, slice | int | np.integer):
            return self.like(self.data[:, columns])
        columns = np.flatnonzero(columns) if columns.dtype == np.bool_ else columns
        return self.like(self.device.xp.take(self.data, self.raw(columns, np.int64), axis=1))

    def __setitem__(self, at: Any, values: Any) -> None:
        rows, *others = at if isinstance(at, tuple) else (at,)
        values = self.raw(values, self.dtype)
        if not others:
            self.data[rows if rows is Ellipsis or self.ndim == 1 else (rows, ...)] = values
        elif isinstance(others[0], slice | int | np.integer):
            self.data[rows, others[0]] = values
        else:
            marked = np.asarray(others[0])
            for place, column in enumerate(np.flatnonzero(marked) if marked.dtype == bool else marked):
                self.data[rows, int(column)] = values[:, place]

    # ---- operations on entries, and products ---------------------------------------------------------------------

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, where=True, dtype=None, casting="same_kind"):
        target = None if out is None else out[0]
        if method != "__call__" or not (target is None or isinstance(target, DeviceArray)):
            return NotImplemented
        if ufunc is np.matmul:
            return self._matmul(*inputs)
        if ufunc not in UFUNCS:
            return NotImplemented
        types, xp = _input_types(ufunc, inputs, dtype), self.device.xp
        operands = [self.raw(x, t) for x, t in zip(inputs, types, strict=True)]
        if where is not True:  # as a divisor, 1 where there is nothing to divide
            where = self.raw(where)
            operands[-1] = xp.where(where, operands[-1], self.raw(1, types[-1]))
        found = self.like(getattr(xp, UFUNCS[ufunc])(*operands))
        if target is None:
            return found
        target[...] = found if where is True else self.like(xp.where(where, self.raw(found, target.dtype), target.data))
        return target

    def _matmul(self, left: Any, right: Any) -> Any:
        """Return a product with a small matrix, or with a tall one: a sum over the samples, in this process."""
        dtype = np.result_type(left.dtype, right.dtype)
        found = self.device.xp.matmul(self.raw(left, dtype), self.raw(right, dtype))
        return self.host(found) if isinstance(right, DeviceArray) else self.like(found)

    def __array_function__(self, function, types, arguments, keywords):
        found = FUNCTIONS.get(function)
        return NotImplemented if found is None else found(*arguments, **keywords)

    def astype(self, dtype, copy: bool = True, **keywords) -> DeviceArray:
        """Return the array in another type; in single precision where the device has no double."""
        if not copy and self.dtype == self.device.own(dtype):
            return self
        return self.like(self.device.xp.astype(self.data, self.device.dtype(dtype), copy=True))

    def copy(self) -> DeviceArray:
        """Return a copy."""
        return self.astype(self.dtype)

    # ---- reductions: over the samples they come back, within samples they stay -----------------------------------

    def reduced(self, name: str, axis: int | None, dtype=None, keepdims: bool = False) -> Any:
        """Return a reduction by its name in the array API."""
        data = self.raw(self, dtype)
        found = getattr(self.device.xp, name)(data, axis=axis, **({"keepdims": True} if keepdims else {}))
        return self.like(found) if axis == 1 else self.host(found)

    def min(self, axis: int | None = None, initial=None, keepdims: bool = False) -> Any:
        """Return the smallest entry, of all, of each column or of each row."""
        if not len(self):
            return np.full(self.shape[1:] if axis == 0 else (), initial)[()]
        found = self.reduced("min", axis, keepdims=keepdims)
        return found if initial is None else np.minimum(found, initial)

    def max(self, axis: int | None = None, initial=None, keepdims: bool = False) -> Any:
        """Return the largest entry, of all, of each column or of each row."""
        if not len(self):
            return np.full(self.shape[1:] if axis == 0 else (), initial)[()]
        found = self.reduced("max", axis, keepdims=keepdims)
        return found if initial is None else np.maximum(found, initial)

    def argmin(self, axis: int) -> Any:
        """Return where the smallest entry of each column or row is."""
        return self.reduced("argmin", axis)

    def argmax(self, axis: int) -> Any:
        """Return where the largest entry of each column or row is."""
        return self.reduced("argmax", axis)

    def any(self, axis: int | None = None) -> Any:
        """Return whether an entry is not zero."""
        return self.reduced("any", axis)

    def all(self, axis: int | None = None) -> Any:
        """Return whether no entry is zero."""
        return self.reduced("all", axis)

    def sum(self, axis: int | None = None, dtype=None) -> Any:
        """Return the sum of the entries, of all, of each column or of each row."""
        return self.reduced("sum", axis, np.int64 if dtype is None and self.dtype == np.bool_ else dtype)

    def mean(self, axis: int | None = None, dtype=None) -> Any:
        """Return the mean of the entries, of all, of each column or of each row."""
        n = self.size if axis is None else self.shape[axis]
        return (self.sum(axis, np.float64) / n).astype(dtype or self.dtype)


class Transposed:
    """The transpose of a tall array: its product with a tall one, a sum over the samples, comes to this process."""

    __array_ufunc__ = None  # a product with it from the right is none of numpy's

    def __init__(self, rows: DeviceArray):
        self.T, self.shape, self.dtype = rows, rows.shape[::-1], rows.dtype

    def __matmul__(self, other: Any) -> np.ndarray:
        rows, dtype = self.T, np.result_type(self.dtype, other.dtype)
        xp = rows.device.xp
        return rows.host(xp.matmul(xp.matrix_transpose(rows.raw(rows, dtype)), rows.raw(other, dtype)))


def _input_types(ufunc: np.ufunc, inputs: tuple, dtype: Any) -> list:
    """Return the types of numpy in which a function of entries is computed."""
    if dtype is not None:
        return [np.dtype(dtype)] * len(inputs)
    given = tuple(type(x) if type(x) in (int, float) else np.dtype(getattr(x, "dtype", type(x))) for x in inputs)
    return list(ufunc.resolve_dtypes((*given, None))[: len(inputs)])
