#!/usr/bin/env python3
"""Compares a checkpoint before and after the phase share.

usage: check-share.py CHECKPOINT SCRATCH-PREFIX [--schedule S]

Without a schedule: the reference executor gives the same bits on the module as imported and on the shared one, and the compiled
program the same tokens and rows, with logits within 1e-4 of the largest. With a schedule: the compiled program agrees in the same way with the reference
executor on the shared module, which the package holds; and the model's own result is another, so that the comparison means something.
Exits with 1 if anything differs.
"""

import argparse
import array
import subprocess
import sys


def run(*command):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}\nexited with {result.returncode}:\n{result.stderr}")
    return result.stdout


def content(path):
    with open(path, "rb") as file:
        return file.read()


def floats(path):
    """The values of an .npy file of version 1 with f32."""
    data = content(path)
    values = array.array("f")
    values.frombytes(data[10 + int.from_bytes(data[8:10], "little"):])
    return values


class Checker:
    def __init__(self, checkpoint, prefix):
        self.checkpoint, self.prefix = checkpoint, prefix
        self.module = prefix + ".mlir"
        run("strata-import", checkpoint, "-o", self.module)
        self.sparse = "strata.select" in open(self.module, encoding="utf-8").read()

    def generate(self, program, device, name):
        """(tokens, rows, path of the logits)"""
        prompt = ",".join(str(11 * i % 250) for i in range(70))
        logits, rows = f"{self.prefix}-{name}.npy", f"{self.prefix}-{name}-rows.npy"
        tokens = run("strata-run", program, "--weights", self.checkpoint, "--device", device, "--prompt-ids", prompt, "--max-new-tokens", 8,
                     "--ignore-eos", "--logits", logits, *(["--rows", rows] if self.sparse else []))
        return tokens, content(rows) if self.sparse else b"", logits

    def compile(self, *options):
        program = self.prefix + ".strata"
        run("strata-compile", self.module, "--compute=f32", "--cache=f32", "--cpu=x86-64-v3", *options, "-o", program)
        return program

    def expect_close(self, one, other):
        a, b = floats(one[2]), floats(other[2])
        scale = max(map(abs, b))
        error = max(abs(x - y) for x, y in zip(a, b)) / scale
        if one[:2] != other[:2] or len(a) != len(b) or not error <= 1e-4:
            sys.exit(f"tokens {'equal' if one[0] == other[0] else 'differ'}, rows {'equal' if one[1] == other[1] else 'differ'}, error {error}")

    def check_declared(self):
        shared = self.prefix + "-shared.mlir"
        run("strata-compile", self.module, "--to=share", "-o", shared)
        before = self.generate(self.module, "reference", "before")
        after = self.generate(shared, "reference", "after")
        if before[:2] != after[:2] or content(before[2]) != content(after[2]):
            sys.exit("the shared module gives other bits than the imported one")
        self.expect_close(self.generate(self.compile(), "cpu", "cpu"), before)
        print("declared: same bits")

    def check_approximate(self, schedule):
        program = self.compile("--schedule", schedule, "--allow-approximate=sharing")
        reference = self.generate(program, "reference", "reference")
        self.expect_close(self.generate(program, "cpu", "cpu"), reference)
        own = self.generate(self.module, "reference", "own")
        if content(own[2]) == content(reference[2]):
            sys.exit("the schedule changes nothing")
        print(f"{schedule}: equal")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint")
    parser.add_argument("scratch")
    parser.add_argument("--schedule")
    args = parser.parse_args()
    checker = Checker(args.checkpoint, args.scratch)
    if args.schedule:
        checker.check_approximate(args.schedule)
    else:
        checker.check_declared()


if __name__ == "__main__":
    main()
