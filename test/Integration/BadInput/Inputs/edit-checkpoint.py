#!/usr/bin/env python3
"""Writes copies of a checkpoint with one file of weights, each with one thing wrong.

usage: edit-checkpoint.py CHECKPOINT OUT

OUT/NAME is a checkpoint for each NAME below. The first group has tensors that don't fit the config, the second has files that
don't follow the format.
"""

import json
import os
import shutil
import struct
import sys


def pack(header, data, size=None):
    """A file; `header` is an object, or its bytes."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if size is None else size) + text + data


class Checkpoint:
    def __init__(self, folder):
        self.config = os.path.join(folder, "config.json")
        with open(os.path.join(folder, "model.safetensors"), "rb") as file:
            self.bytes = file.read()
        size, = struct.unpack_from("<Q", self.bytes)
        self.header, self.data = json.loads(self.bytes[8:8 + size]), self.bytes[8 + size:]

    def with_tensors(self, change):
        """The file after `change` of {name: [dtype, shape, bytes]}."""
        tensors = {}
        for name, entry in self.header.items():
            if name != "__metadata__":
                begin, end = entry["data_offsets"]
                tensors[name] = [entry["dtype"], entry["shape"], self.data[begin:end]]
        change(tensors)
        header, data = {}, b""
        for name, (dtype, shape, content) in tensors.items():
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
            data += content
        return pack(header, data)

    def with_header(self, change):
        """The file after `change` of its header, whatever the data."""
        header = json.loads(json.dumps(self.header))
        change(header)
        return pack(header, self.data)


def drop(*parts):
    def change(tensors):
        for name in [name for name in tensors if any(part in name for part in parts)]:
            del tensors[name]
    return change


def set_tensors(**tensors):
    return lambda all: all.update({name.replace("__", "."): value for name, value in tensors.items()})


def set_entry(name, key, value):
    def change(header):
        header[name][key] = value
    return change


def same_offsets(first, second):
    def change(header):
        header[first]["data_offsets"] = header[second]["data_offsets"]
    return change


def main():
    source, out = sys.argv[1:]
    original = Checkpoint(source)
    norm = "model.norm.weight"
    zeros = lambda count: bytes(2 * count)
    tensors = {
        "missing": drop(norm, "layers.1.mlp.up_proj"),
        "many-missing": drop("layers."),
        "extra": set_tensors(model__layers__0__self_attn__q_norm__weight=["F16", [16], zeros(16)],
                             model__layers__9__mlp__up_proj__weight=["F16", [2, 2], zeros(4)]),
        "shape": set_tensors(model__norm__weight=["F16", [63], zeros(63)],
                             model__layers__0__self_attn__k_proj__weight=["F16", [64, 32], zeros(64 * 32)]),
        "type": set_tensors(model__norm__weight=["I64", [64], bytes(8 * 64)]),
    }
    files = {name: original.with_tensors(change) for name, change in tensors.items()}
    last = max((entry["data_offsets"][1], name) for name, entry in original.header.items() if name != "__metadata__")[1]
    files |= {
        "empty": b"",
        "junk": bytes(range(256)) * 20,
        "truncated": original.bytes[:-5],
        "truncated-header": original.bytes[:100],
        "long-header": pack(original.header, original.data, size=1 << 40),
        "header-to-end": pack(b"{}", b"", size=3),
        "not-json": pack(b'{"a": [}' + b" " * 8, b""),
        "not-object": pack(b"[1, 2]  ", b""),
        "overlap": original.with_header(same_offsets(norm, "model.layers.0.input_layernorm.weight")),
        "backwards": original.with_header(set_entry(norm, "data_offsets", [128, 0])),
        "beyond-end": original.with_header(set_entry(last, "data_offsets", [0, 1 << 62])),
        "negative": original.with_header(set_entry(norm, "data_offsets", [-128, 0])),
        "unknown-dtype": original.with_header(set_entry(norm, "dtype", "F12")),
        "dtype-number": original.with_header(set_entry(norm, "dtype", 16)),
        "huge-shape": original.with_header(set_entry(norm, "shape", [1 << 40, 1 << 40])),
        "wrong-size": original.with_header(set_entry(norm, "shape", [65])),
        "no-shape": original.with_header(lambda header: header[norm].pop("shape")),
        "git-lfs": b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 1\n",
        "trailing": original.bytes + b"\0" * 10,
    }
    for name, content in files.items():
        folder = os.path.join(out, name)
        os.makedirs(folder)
        shutil.copy(original.config, folder)
        with open(os.path.join(folder, "model.safetensors"), "wb") as file:
            file.write(content)


if __name__ == "__main__":
    main()
