"""Arrays of other libraries for tests: in memory, and on a device, which array-api-strict has without hardware."""

import numpy as np
import pytest

from laminar._utils.device.namespaces import Device

try:
    import torch
except ImportError:
    torch = None
else:
    torch.set_num_threads(1)  # threads cost more than these small arrays, and wait busily for each other

WITHOUT_TORCH = pytest.mark.skipif(torch is None, reason='torch is not installed: pip install "laminar-nmf[torch]"')
MEMORY = ["strict memory", pytest.param("torch memory", marks=WITHOUT_TORCH)]
DEVICES = ["strict device", pytest.param("torch device", marks=WITHOUT_TORCH)]


def tensor(X, kind):
    """Return X as an array of a library."""
    if kind.startswith("torch"):
        return torch.tensor(X)
    strict = pytest.importorskip("array_api_strict")
    return strict.asarray(X, device=strict.Device("device1" if kind.endswith("device") else "CPU_DEVICE"))


def treat_memory_as_device(kind, monkeypatch):
    """Let tensors of torch that are in memory be treated as those of a device, which a test machine may lack."""
    if kind == "torch device":
        monkeypatch.setattr(Device, "is_memory", property(lambda self: False))


def to_numpy(X):
    """Return a tensor as an array, and fail for anything else."""
    device = Device.of(X)
    assert device is not None, f"a {type(X).__name__}, not a tensor"
    return np.array(device.to_host(X))
