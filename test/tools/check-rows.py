#!/usr/bin/env python3
"""Runs a checkpoint, gives the rows of that run to a program that takes rows, and compares the logits bit by bit.

usage: check-rows.py CHECKPOINT SCRATCH-PREFIX --format f32|bf16 [--schedule S]

Both devices; prompts longer than what an indexer selects; also in chunks. Exits with 1 if anything differs.
"""

import argparse
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint")
    parser.add_argument("scratch")
    parser.add_argument("--format", required=True)
    parser.add_argument("--schedule", default="declared")
    args = parser.parse_args()

    prefix = args.scratch
    module = prefix + ".mlir"
    run("strata-import", args.checkpoint, "-o", module)
    options = ["--schedule", args.schedule, f"--compute={args.format}", f"--cache={args.format}", "--cpu=x86-64-v3"]
    if args.schedule != "declared":
        options.append("--allow-approximate=sharing")
    run("strata-compile", module, "--export-rows", *options, "-o", prefix + "-out.strata")
    run("strata-compile", module, "--import-rows", *options, "-o", prefix + "-in.strata")

    prompt = ",".join(str(7 * i % 250) for i in range(90))
    for device in ("cpu", "reference"):
        def generate(package, name, *more):
            tokens = run("strata-run", f"{prefix}-{package}.strata", "--weights", args.checkpoint, "--device", device, "--prompt-ids", prompt,
                         "--max-new-tokens", 6, "--ignore-eos", "--logits", f"{prefix}-{name}.npy", "--rows", f"{prefix}-{name}-rows.npy", *more)
            return tokens, content(f"{prefix}-{name}.npy"), content(f"{prefix}-{name}-rows.npy")

        own = generate("out", "own")
        for chunk in (256, 13):
            if generate("in", "again", "--import-rows", f"{prefix}-own-rows.npy", "--chunk", chunk) != own:
                sys.exit(f"{device}, chunk {chunk}: the results differ")
        print(f"{device}: rows in and out give the same bits")


if __name__ == "__main__":
    main()
