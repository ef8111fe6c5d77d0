"""Writes rows as strata-run --rows does, i32 [indexers, steps, k]: even steps have the first k, odd ones the next."""

import struct
import sys

indexers, steps, k = (int(argument) for argument in sys.argv[2:])
header = "{'descr': '<i4', 'fortran_order': False, 'shape': (%d, %d, %d), }" % (indexers, steps, k)
header += " " * (63 - (10 + len(header)) % 64) + "\n"
with open(sys.argv[1], "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    for _ in range(indexers):
        for step in range(steps):
            file.write(struct.pack("<%di" % k, *range(step % 2 * k, step % 2 * k + k)))
