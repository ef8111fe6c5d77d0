#!/usr/bin/env python3
"""Checks the examples of a generated op reference: each op has one, and each parses and verifies.

usage: check-doc-examples.py STRATA-OPT SOURCE-FOLDER REFERENCE.md…

An example is a block that begins with three back quotes and `mlir`; it is a whole module. Text that is not (a fragment,
a grammar) goes into a block without a language. An op whose example would be too long may name a test in its place
(`test/….mlir`), which then must be there and use the op. Ends with the line `N examples of M ops`; exits with 1, and says
why, if something is wrong.
"""

import os
import re
import subprocess
import sys


def sections(path):
    """The lines below each heading like ### `strata.select` (::strata::SelectOp): (op, number of the first line, lines)."""
    found = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            heading = re.match(r"#{1,3} (?:`([a-z_0-9.]+)` \(.*Op\))?", line)
            if heading:
                found.append((heading[1], number + 1, []))
            elif found:
                found[-1][2].append(line)
    return [section for section in found if section[0]]


def blocks(first, lines):
    """The blocks marked `mlir`: (number of the first line, text)."""
    found = []
    inside = False
    for number, line in enumerate(lines, first):
        if line.strip() == "```mlir":
            found.append((number + 1, ""))
            inside = True
        elif line.strip() == "```":
            inside = False
        elif inside:
            found[-1] = (found[-1][0], found[-1][1] + line)
    return found


def uses(source, test, op):
    """Whether a test is there and has the op."""
    path = os.path.join(source, test)
    if not os.path.exists(path):
        return False
    with open(path, encoding="utf-8") as file:
        return re.search(re.escape(op) + r"\b", file.read()) is not None


def main():
    strata_opt, source, paths = sys.argv[1], sys.argv[2], sys.argv[3:]
    ops = examples = 0
    problems = []
    for path in paths:
        for op, first, lines in sections(path):
            ops += 1
            found = blocks(first, lines)
            tests = re.findall(r"test/[\w/-]+\.mlir", "".join(lines))
            examples += len(found) + len(tests)
            if not found and not tests:
                problems.append(f"{path}:{first}: {op} has no example")
            problems += [f"{path}:{first}: {op} names {test}, which does not use it" for test in tests if not uses(source, test, op)]
            for number, text in found:
                run = subprocess.run([strata_opt, "-o", "/dev/null"], input=text, text=True, capture_output=True)
                if run.returncode:
                    problems.append(f"{path}:{number}: the example of {op} is refused\n{run.stderr.strip()}")
    if not ops:
        problems.append("no op found in " + ", ".join(paths))
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{examples} examples of {ops} ops")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
