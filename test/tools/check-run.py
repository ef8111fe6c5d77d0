#!/usr/bin/env python3
"""Runs a checkpoint through strata-import, strata-compile and strata-run and compares with what its `expected` folder says.

usage: check-run.py FOLDER [--device cpu|reference] [--format f32|bf16] [--chunk N] [--mutate KEY=JSON]... [--bf16-limit X]

f32: tokens and rows must be equal, logits within 1e-4 of the case's logit_scale. Weights are widened exactly, so this holds for
checkpoints in any format.

bf16: the expected tokens, rows and experts are given, and the root mean square of the errors, in units of logit_scale, must be at most X (1.2)
times what the public reference implementation has in bf16 under the same conditions (`forced_rms_error`; where nothing is selected,
`rms_error`). Trained models (with scores.json) must stay within 1.5 times `rms_error` when they run free as well.

--mutate changes the config before import: a test that the comparison notices. Prints one line per case; exits with 1 on the
first that doesn't hold. Needs the tools on PATH; the files are .npy of version 1, read without numpy.
"""

import argparse
import array
import ast
import json
import math
import os
import struct
import subprocess
import sys
import tempfile


def read_npy(path):
    """(shape, flat array) of a little-endian C-order file of f4 or i4."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:6] != b"\x93NUMPY":
        sys.exit(f"{path}: not an .npy file")
    length = struct.unpack_from("<H" if data[6] == 1 else "<I", data, 8)[0]
    start = (10 if data[6] == 1 else 12) + length
    header = ast.literal_eval(data[start - length:start].decode("latin1"))
    if header["fortran_order"] or header["descr"] not in ("<f4", "<i4"):
        sys.exit(f"{path}: expected a C-order array of <f4 or <i4 but got {header}")
    values = array.array("f" if header["descr"] == "<f4" else "i")
    values.frombytes(data[start:])
    return header["shape"], values


def run(*command):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}\nexited with {result.returncode}:\n{result.stderr}")
    return result.stdout


def compare_logits(path, expected, scale):
    """(largest, root mean square) error in units of the scale; NaN counts as infinite."""
    shape, values = read_npy(path)
    want_shape, want = read_npy(expected)
    if shape != want_shape:
        sys.exit(f"{path}: expected logits of shape {want_shape} but got {shape}")
    errors = [abs(a - b) / scale for a, b in zip(values, want)]
    if not all(map(math.isfinite, errors)):
        return math.inf, math.inf
    return max(errors), math.sqrt(sum(e * e for e in errors) / len(errors))


def mutate(folder, changes, scratch):
    """A copy of the folder (files linked) whose config.json has the changes."""
    for name in os.listdir(folder):
        if name != "config.json":
            os.symlink(os.path.join(os.path.abspath(folder), name), os.path.join(scratch, name))
    with open(os.path.join(folder, "config.json")) as file:
        config = json.load(file)
    for change in changes:
        key, value = change.split("=", 1)
        *path, last = key.split(".")
        target = config
        for part in path:
            target = target[part]
        target[last] = json.loads(value)
    with open(os.path.join(scratch, "config.json"), "w") as file:
        json.dump(config, file)
    return scratch


class Checker:
    def __init__(self, args, folder, scratch):
        self.args, self.folder, self.scratch = args, folder, scratch
        self.expected = os.path.join(folder, "expected")
        self.module, self.package = os.path.join(scratch, "model.mlir"), os.path.join(scratch, "model.strata")
        run("strata-import", folder, "-o", self.module)
        run("strata-compile", self.module, "-o", self.package, f"--compute={args.format}", f"--cache={args.format}")
        with open(os.path.join(self.expected, "cases.json")) as file:
            self.cases = json.load(file)

    def path(self, name):
        return os.path.join(self.scratch, name)

    def expected_file(self, kind, number):
        path = os.path.join(self.expected, f"{kind}-{number}.npy")
        return path if os.path.exists(path) else None

    def generate(self, prompt, new, number, *options):
        """Runs the model; returns the new ids."""
        command = ["strata-run", self.package, "--weights", self.folder, "--device", self.args.device, "--ignore-eos", "--poison",
                   "--prompt-ids", ",".join(map(str, prompt)), "--max-new-tokens", new, "--logits", self.path("logits.npy")]
        if self.expected_file("rows", number):
            command += ["--rows", self.path("rows.npy")]
        if self.args.chunk:
            command += ["--chunk", self.args.chunk]
        return [int(word) for word in run(*command, *options).split()]

    def check_f32(self, number, case):
        tokens = self.generate(case["prompt"], len(case["tokens"]), number)
        largest, _ = compare_logits(self.path("logits.npy"), self.expected_file("logits", number), case["logit_scale"])
        rows = True
        if self.expected_file("rows", number):
            rows = read_npy(self.path("rows.npy")) == read_npy(self.expected_file("rows", number))
        same = tokens == case["tokens"]
        return (same and rows and largest <= 1e-4,
                f"tokens {'equal' if same else 'differ'}, rows {'equal' if rows else 'differ'}, largest error {largest:.2e} (at most 1.00e-04)")

    def check_bf16(self, number, case):
        given = []
        for kind in ("rows", "experts"):
            if self.expected_file(kind, number):
                given += [f"--import-{kind}", self.expected_file(kind, number)]
        self.generate(case["prompt"] + case["tokens"][:-1], 1, number, *given)
        _, error = compare_logits(self.path("logits.npy"), self.expected_file("logits", number), case["logit_scale"])
        yardstick = case["bfloat16"].get("forced_rms_error", case["bfloat16"]["rms_error"])
        limit = self.args.bf16_limit * yardstick
        holds, text = error <= limit, f"rms error {error:.4f} (at most {limit:.4f})"
        if os.path.exists(os.path.join(self.expected, "scores.json")):
            self.generate(case["prompt"] + case["tokens"][:-1], 1, number)
            _, error = compare_logits(self.path("logits.npy"), self.expected_file("logits", number), case["logit_scale"])
            limit = 1.5 * case["bfloat16"]["rms_error"]
            holds, text = holds and error <= limit, text + f", free {error:.4f} (at most {limit:.4f})"
        return holds, text

    def run(self):
        check = self.check_f32 if self.args.format == "f32" else self.check_bf16
        for number, case in enumerate(self.cases):
            holds, text = check(number, case)
            chunk = f" chunk {self.args.chunk}" if self.args.chunk else ""
            print(f"{os.path.basename(os.path.normpath(self.args.folder))} {self.args.device} {self.args.format}{chunk} case {number}: {text}{'' if holds else ', does not hold'}", flush=True)
            if not holds:
                return 1
        return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--device", default="cpu", choices=["cpu", "reference"])
    parser.add_argument("--format", default="f32", choices=["f32", "bf16"])
    parser.add_argument("--chunk", type=int)
    parser.add_argument("--mutate", action="append", default=[])
    parser.add_argument("--bf16-limit", type=float, default=1.2)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory() as copy:
        folder = mutate(args.folder, args.mutate, copy) if args.mutate else args.folder
        return Checker(args, folder, scratch).run()


if __name__ == "__main__":
    sys.exit(main())
