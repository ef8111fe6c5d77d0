#!/usr/bin/env python3
"""Runs a command that must fail as every tool of the project fails, and prints its one line of error.

usage: expect-error.py [--absent PATH]... [--as-nobody] [--limit NAME=BYTES]... COMMAND...

The exit code must be 1, standard output empty, and standard error must have exactly one line with `error: ` (remarks and warnings may
precede it; the source line of a diagnostic may follow). PATH must not exist afterwards, nor a temporary file beside it. An argument
@FILE of the command stands for the file's content.

--absent PATH         an output that must not be there, nor anything whose name begins with it
--limit NAME=BYTES    a limit of setrlimit(2): AS or FSIZE
--as-nobody           without the rights of root, for tests of permissions
"""

import argparse
import glob
import os
import resource
import signal
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--absent", action="append", default=[])
    parser.add_argument("--limit", action="append", default=[])
    parser.add_argument("--as-nobody", action="store_true")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()

    def prepare():
        for limit in args.limit:
            name, value = limit.split("=")
            resource.setrlimit(getattr(resource, "RLIMIT_" + name), (int(value), int(value)))
        # Python ignores this signal; a program as a shell starts it doesn't.
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        if args.as_nobody and os.geteuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

    command = [open(part[1:]).read() if part.startswith("@") else part for part in args.command]
    # The folder for temporary files may be the caller's alone.
    environment = os.environ | ({"TMPDIR": "/tmp"} if args.as_nobody else {})
    result = subprocess.run(command, capture_output=True, preexec_fn=prepare, timeout=120, env=environment)
    text = result.stderr.decode(errors="replace")
    problems = []
    if result.returncode != 1:
        problems.append(f"expected the exit code 1 but got {result.returncode}")
    if result.stdout:
        problems.append(f"expected nothing on standard output but got {result.stdout[:200]!r}")
    errors = [line for line in text.splitlines() if "error: " in line]
    if len(errors) != 1:
        problems.append(f"expected one line of error but got {len(errors)}")
    for path in args.absent:
        folder, name = os.path.split(path)
        left = glob.glob(glob.escape(path) + "*") + glob.glob(os.path.join(glob.escape(folder), "." + glob.escape(name) + "*"))
        if left:
            problems.append(f"expected that nothing is left but found {left}")
    if problems:
        sys.exit("\n".join([" ".join(args.command)] + problems + [text]))
    print(errors[0])


if __name__ == "__main__":
    main()
