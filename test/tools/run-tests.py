#!/usr/bin/env python3
"""Runs every test below a build's test folder with lit and ends with the line `N passed, N failed`.

usage: run-tests.py BUILD/test [further arguments for lit]

Exits with 1 if a test failed, if lit could not start, or if it found no test at all.
"""

import collections
import json
import os
import re
import subprocess
import sys


def main():
    folder = os.path.abspath(sys.argv[1])
    with open(os.path.join(folder, "lit.site.cfg.py")) as site:
        lit = os.path.join(re.search(r'config.llvm_tools_dir = "(.*)"', site.read())[1], "lit")
    results = os.path.join(folder, "results.json")
    if os.path.exists(results):
        os.remove(results)

    print("Running the tests", flush=True)
    subprocess.run([lit, "-sv", "--output", results, *sys.argv[2:], folder])
    tests = []
    if os.path.exists(results):
        with open(results) as file:
            tests = json.load(file)["tests"]

    count = collections.Counter(test["code"] for test in tests)
    passed = count["PASS"] + count["FLAKYPASS"] + count["XFAIL"]
    # A run that tested nothing must not look like success.
    failed = len(tests) - passed - count["UNSUPPORTED"] if passed else max(1, len(tests) - count["UNSUPPORTED"])
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
