#!/usr/bin/env python3
"""Checks the examples of a generated op reference: each op has one, and each parses and verifies.

usage: check-doc-examples.py STRATA-OPT REFERENCE.md…

An example is a block that begins with three back quotes and `mlir`; it is a whole module. Text that is not (a fragment,
a grammar) goes into a block without a language. Ends with the line `N examples of M ops`, or with 1 and what is wrong.
"""

import re
import subprocess
import sys


def examples_by_op(path):
    """The examples below each heading like ### `strata.select` (strata::SelectOp), as (line, text)."""
    examples = {}
    op = block = None
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            heading = re.match(r"#{1,3} (?:`([a-z_]+\.[a-z_0-9.]+)` \(.*Op\))?", line)
            if block is not None:
                if line.strip() == "```":
                    block = None
                else:
                    block.append(line)
            elif line.strip() == "```mlir" and op:
                block = []
                examples[op].append((number, block))
            elif heading:
                op = heading[1]
                if op:
                    examples[op] = []
    return examples


def main():
    strata_opt, paths = sys.argv[1], sys.argv[2:]
    ops = count = 0
    problems = []
    for path in paths:
        for op, examples in examples_by_op(path).items():
            ops += 1
            if not examples:
                problems.append(f"{path}: {op} has no example")
            for line, text in examples:
                count += 1
                run = subprocess.run([strata_opt, "-o", "/dev/null"], input="".join(text), text=True, capture_output=True)
                if run.returncode:
                    problems.append(f"{path}:{line}: the example of {op} is refused\n{run.stderr.strip()}")
    if not ops:
        problems.append("no op found in " + ", ".join(paths))
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    print(f"{count} examples of {ops} ops")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
