"""The layout of a package file (include/strata-rt/package.fbs) and its checksum (runtime/core/Checksum.cpp)."""

import struct

MASK = (1 << 64) - 1
PRIMES = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
HEADER_SIZE = 64


def rotate(value, bits):
    return (value << bits | value >> (64 - bits)) & MASK


def absorb(accumulator, word):
    return rotate((accumulator + word * PRIMES[1]) & MASK, 31) * PRIMES[0] & MASK


def checksum(data):
    accumulators = [(PRIMES[0] + PRIMES[1]) & MASK, PRIMES[1], 0, -PRIMES[0] & MASK]
    padded = data + bytes(-len(data) % 8)
    for index, (word,) in enumerate(struct.iter_unpack("<Q", padded)):
        accumulators[index % 4] = absorb(accumulators[index % 4], word)
    result = len(data)
    for accumulator in accumulators:
        result = absorb(result, accumulator)
    result = (result ^ result >> 33) * PRIMES[1] & MASK
    result = (result ^ result >> 29) * PRIMES[2] & MASK
    return result ^ result >> 32


def manifest_of(package):
    size, = struct.unpack_from("<Q", package, 16)
    return package[HEADER_SIZE:HEADER_SIZE + size]


def with_manifest(package, manifest):
    """The package with another manifest of the same size and the checksums that fit."""
    header = bytearray(package[:HEADER_SIZE])
    struct.pack_into("<Q", header, 24, checksum(bytes(manifest)))
    struct.pack_into("<Q", header, 32, checksum(bytes(header[:32])))
    return bytes(header) + bytes(manifest) + package[HEADER_SIZE + len(manifest):]
