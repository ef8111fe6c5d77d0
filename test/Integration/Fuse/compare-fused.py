#!/usr/bin/env python3
"""Runs each model of a folder on the reference executor before and after the phase fuse and compares logits and rows byte by byte.

usage: compare-fused.py FOLDER SCRATCH
"""

import filecmp
import os
import subprocess
import sys

PROMPTS = ["--prompt-ids", "3,1,4,1,5,9,2,6,5,3,5,8,9,7,9", "--prompt-ids", "2,7", "--max-new-tokens", "3", "--ignore-eos", "--chunk", "5"]


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(command)}\nexited with {result.returncode}:\n{result.stderr}")


def main():
    folder, scratch = sys.argv[1:]
    models = sorted(name for name in os.listdir(folder) if os.path.exists(f"{folder}/{name}/config.json"))
    for model in models:
        weights, files = f"{folder}/{model}", {}
        run("strata-import", weights, "-o", f"{scratch}/input.mlir")
        run("strata-compile", f"{scratch}/input.mlir", "--to=fuse", "-o", f"{scratch}/fuse.mlir")
        with open(f"{scratch}/fuse.mlir") as fused:
            text = fused.read()
        if "strata.kernel" not in text:
            sys.exit(f"{model}: nothing was fused")
        rows = "strata.select" in text
        for phase in ("input", "fuse"):
            files[phase] = [f"{scratch}/{phase}-logits-{i}.npy" for i in (0, 1)]
            options = ["--logits", f"{scratch}/{phase}-logits.npy"]
            if rows:
                files[phase] += [f"{scratch}/{phase}-rows-{i}.npy" for i in (0, 1)]
                options += ["--rows", f"{scratch}/{phase}-rows.npy"]
            run("strata-run", f"{scratch}/{phase}.mlir", "--device=reference", "--weights", weights, *PROMPTS, *options)
        for before, after in zip(files["input"], files["fuse"]):
            if not filecmp.cmp(before, after, shallow=False):
                sys.exit(f"{model}: {after} is not {before}")
    print(f"{len(models)} models, equal logits and rows before and after fusion")


if __name__ == "__main__":
    main()
