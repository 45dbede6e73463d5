"""Model files written by hand: changed headers, changed contents, and checksums that fit them nevertheless."""

import json

import numpy as np

from laminar._persistence import safetensors_file
from laminar._persistence.safetensors_file import checksum, tensor_type


def take_apart(path):
    """Text and arrays of a file."""
    header, arrays, _ = safetensors_file.read(path)
    return dict(header.metadata), arrays


def contents(path):
    """Text and arrays of a model file, with the JSON in the text parsed."""
    metadata, arrays = take_apart(path)
    return {name: parsed(text) for name, text in metadata.items()}, arrays


def parsed(text):
    return json.loads(text) if text[:1] in ("{", "[") else text


def packed(parts, arrays, *, right_checksum=True):
    """The bytes of a file of these parts; the checksum is that of the parts unless it shall be wrong."""
    metadata = {name: part if isinstance(part, str) else json.dumps(part) for name, part in parts.items()}
    if right_checksum:
        found = checksum(metadata, {name: (tensor_type(array), array.shape) for name, array in arrays.items()})
        for name in sorted(arrays):
            found.update(np.ascontiguousarray(arrays[name]).tobytes())
        metadata["checksum"] = found.hexdigest()
    header, start = {"__metadata__": metadata}, 0
    for name, array in arrays.items():
        header[name] = {
            "dtype": tensor_type(array),
            "shape": list(array.shape),
            "data_offsets": [start, start + array.nbytes],
        }
        start += array.nbytes
    return joined(json.dumps(header), b"".join(np.ascontiguousarray(array).tobytes() for array in arrays.values()))


def joined(header, body):
    """The bytes of a file with this header, as text or bytes."""
    header = header.encode() if isinstance(header, str) else header
    return len(header).to_bytes(8, "little") + header + body


def split(data):
    """Header, parsed, and body of the bytes of a file."""
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def nodes(tree, path=()):
    """Every place of a tree of JSON, as the keys that lead to it."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from nodes(item, (*path, key))


def at(tree, path):
    for key in path:
        tree = tree[key]
    return tree
