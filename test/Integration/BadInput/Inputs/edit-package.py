#!/usr/bin/env python3
"""Writes damaged copies of a package: edit-package.py PACKAGE OUT gives OUT/NAME.strata for each NAME below."""

import os
import struct
import sys

from package_file import HEADER_SIZE, checksum, manifest_of, with_manifest


def flip(package, offset):
    return package[:offset] + bytes([package[offset] ^ 4]) + package[offset + 1:]


def main():
    path, out = sys.argv[1:]
    with open(path, "rb") as file:
        package = file.read()
    end = HEADER_SIZE + len(manifest_of(package))
    assert checksum(package[:32]) == struct.unpack_from("<Q", package, 32)[0], "the checksum's rule has changed"
    version = bytearray(package)
    struct.pack_into("<I", version, 8, 4096)
    first_blob = (end + 4095) // 4096 * 4096
    module = package.index(b"ML\xefR")
    files = {
        "version": bytes(version),
        "cut": package[:-1],
        "cut-manifest": package[:end - 10],
        "cut-header": package[:20],
        "long": package + b"\0",
        "flipped-header": flip(package, 17),
        "flipped-manifest": flip(package, HEADER_SIZE + 100),
        "flipped-object": flip(package, first_blob + 1000),
        "flipped-module": flip(package, module + 100),
        "flipped-gap": flip(package, first_blob - 1),
        "no-manifest": with_manifest(package, bytes(end - HEADER_SIZE)),
    }
    for name, content in files.items():
        with open(os.path.join(out, name + ".strata"), "wb") as file:
            file.write(content)


if __name__ == "__main__":
    main()
