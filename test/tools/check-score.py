#!/usr/bin/env python3
"""Compares `strata-run --score` and `--recall` with what a checkpoint's `expected` folder says.

usage: check-score.py FOLDER [--device cpu|reference]                 against the expected logits and rows of its cases
       check-score.py FOLDER --text FILE --schedule PATTERN...        against scores.json, to 0.002

Of a case the text is its tokens, scored as one window; the score must be within 1e-4 of what the expected logits give, the recall matrix
within 1e-3 of what the expected rows give. Everything is computed in f32. Prints one line per comparison; exits with 1 on the first
that doesn't hold. Needs the tools on PATH.
"""

import argparse
import importlib.util
import json
import math
import os
import sys
import tempfile

sys.dont_write_bytecode = True
spec = importlib.util.spec_from_file_location("check_run", os.path.join(os.path.dirname(__file__), "check-run.py"))
check_run = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_run)
run, read_npy = check_run.run, check_run.read_npy


def score(package, folder, text, *options):
    """(score, recall matrix or None)."""
    output = run("strata-run", package, "--weights", folder, "--score", text, *options)
    number, _, rest = output.partition("\n")
    return float(number), json.loads(rest)["recall"] if rest else None


def compile_model(folder, scratch, *options):
    module, package = os.path.join(scratch, "model.mlir"), os.path.join(scratch, "model.strata")
    run("strata-import", folder, "-o", module)
    run("strata-compile", module, "--compute=f32", "--cache=f32", "--cpu=native", *options, "-o", package)
    return package


def require(name, got, want, tolerance):
    if not abs(got - want) <= tolerance:
        sys.exit(f"{name}: expected {want:.5f} but got {got:.5f}")


def compare_recall(name, got, want, tolerance):
    if len(got) != len(want) or any(len(row) != len(want) for row in got):
        sys.exit(f"{name}: expected a matrix of {len(want)} indexers")
    for i, row in enumerate(want):
        for j, value in enumerate(row):
            require(f"{name}: recall {i},{j}", got[i][j], value, tolerance)


def score_of_logits(path, targets):
    (tokens, vocabulary), values = read_npy(path)
    total = 0
    for t in range(tokens):
        logits = values[t * vocabulary:(t + 1) * vocabulary]
        largest = max(logits)
        total += math.log(sum(math.exp(x - largest) for x in logits)) + largest - logits[targets[t]]
    return total / tokens


def recall_of_rows(path):
    (indexers, tokens, k), values = read_npy(path)
    rows = lambda i, t: set(values[(i * tokens + t) * k:(i * tokens + t + 1) * k])
    positions = range(k, tokens, 16)
    if not positions:
        return None
    return [[sum(len(rows(i, t) & rows(j, t)) for t in positions) / k / len(positions) for j in range(indexers)]
            for i in range(indexers)]


def check_cases(folder, device):
    expected = os.path.join(folder, "expected")
    with open(os.path.join(expected, "cases.json")) as file:
        cases = json.load(file)
    with tempfile.TemporaryDirectory() as scratch:
        package = compile_model(folder, scratch)
        for number, case in enumerate(cases):
            tokens = case["prompt"] + case["tokens"]
            text = os.path.join(scratch, "text")
            with open(text, "wb") as file:
                file.write(bytes(tokens))
            rows = os.path.join(expected, f"rows-{number}.npy")
            recall = recall_of_rows(rows) if os.path.exists(rows) else None
            options = ["--window", len(tokens) - 1, "--device", device, "--chunk", 7 + 50 * number]
            got, matrix = score(package, folder, text, *options, *(["--recall"] if recall else []))
            name = f"{os.path.basename(folder)} case {number}"
            require(name, got, score_of_logits(os.path.join(expected, f"logits-{number}.npy"), tokens[1:]), 1e-4)
            if recall:
                compare_recall(name, matrix, recall, 1e-3)
            print(f"{name}: score {got:.5f}" + (f", recall of {len(recall)} indexers" if recall else ""))


def check_schedules(folder, text, schedules):
    with open(os.path.join(folder, "expected", "scores.json")) as file:
        expected = json.load(file)
    for schedule in schedules:
        with tempfile.TemporaryDirectory() as scratch:
            package = compile_model(folder, scratch, "--schedule=pattern:" + schedule, "--allow-approximate=sharing")
            unshared = "S" not in schedule and "recall" in expected
            got, matrix = score(package, folder, text, *(["--recall"] if unshared else []))
        require(schedule, got, expected[schedule]["nll"], 0.002)
        if unshared:
            compare_recall(schedule, matrix, expected["recall"], 0.002)
        print(f"{schedule}: {got:.5f}, expected {expected[schedule]['nll']:.5f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--text")
    parser.add_argument("--schedule", nargs="+")
    arguments = parser.parse_args()
    if arguments.text:
        check_schedules(arguments.folder, arguments.text, arguments.schedule)
    else:
        check_cases(arguments.folder, arguments.device)


main()
