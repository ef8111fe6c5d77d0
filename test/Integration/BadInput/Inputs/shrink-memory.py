#!/usr/bin/env python3
"""Runs a command with less and less address space: shrink-memory.py FIRST LAST STEP COMMAND..., in KiB.

Each run must succeed, fail with the exit code 1 and one line of error, or not start at all (127). Some must succeed and some fail.
"""

import collections
import resource
import subprocess
import sys


def main():
    first, last, step = map(int, sys.argv[1:4])
    codes = collections.Counter()
    for kibibytes in range(first, last + 1, step):
        result = subprocess.run(sys.argv[4:], capture_output=True, timeout=120,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (kibibytes * 1024,) * 2))
        text = result.stderr.decode(errors="replace")
        codes[result.returncode] += 1
        if result.returncode not in (0, 1, 127) or (result.returncode == 1 and text.count("error: ") != 1):
            sys.exit(f"with {kibibytes} KiB: exit code {result.returncode}\n{text}")
    if not codes[0] or not codes[1]:
        sys.exit(f"expected success and failure but got the exit codes {dict(codes)}")


if __name__ == "__main__":
    main()
