#!/usr/bin/env python3
"""Runs a checkpoint within budgets of near memory, from all that it needs down to the least feasible, and compares with the run without limits.

usage: check-budgets.py FOLDER [--format f32|bf16] [--budgets N] [--sequences N] [--tokens N] [--page-size N] [--new N] [--compile OPTION]...
       [--place OPTION]...

Tokens, rows, experts and logits must be equal to the bit, with poisoned memory and transfers that begin late at random. What is counted must be
right: near memory never holds more than the budget, a budget that holds everything moves nothing, and the least one does move something.
One byte less than the least is refused by one message that names it. --compile: an option of strata-compile; --place: only of the runs with a budget. Prints a line for each budget; exits with 1 on the first that doesn't hold.
Needs the tools on PATH.
"""

import argparse
import filecmp
import json
import os
import re
import subprocess
import sys
import tempfile


def call(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True)


def run(*command):
    result = call(*command)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}\nexited with {result.returncode}:\n{result.stderr[:2000]}")
    return result.stdout


class Checker:
    def __init__(self, args, scratch):
        self.args, self.scratch = args, scratch
        with open(os.path.join(args.folder, "config.json")) as file:
            config = json.load(file)
        self.kinds = ["rows"] * ("index_topk" in config) + ["experts"] * ("n_routed_experts" in config)
        self.prompts = self.find_prompts(config["vocab_size"])
        self.context = max(map(len, self.prompts)) + args.new
        self.module = self.path("model.mlir")
        run("strata-import", args.folder, "-o", self.module)

    def find_prompts(self, vocabulary):
        """The longest prompts that the checkpoint comes with: sequences of different lengths come and go."""
        cases = os.path.join(self.args.folder, "expected", "cases.json")
        if os.path.exists(cases):
            with open(cases) as file:
                prompts = sorted((case["prompt"] for case in json.load(file)), key=len)
        else:
            prompts = [[(7 * i * i + 13 * i + length) % vocabulary for i in range(length)] for length in (31, 57, 90)]
        return prompts[-self.args.sequences:]

    def path(self, name):
        return os.path.join(self.scratch, name)

    def compile(self, name, *options):
        formats = [f"--compute={self.args.format}", f"--cache={self.args.format}", f"--page-size={self.args.page_size}"]
        return call("strata-compile", self.module, "-o", self.path(name), "--no-input-module", *formats, *self.args.compile, *options)

    def place(self, name, budget, *options):
        return self.compile(name, "--machine=cpu-two-tier", f"--hbm={budget}B", f"--context={self.context}", f"--batch={len(self.prompts)}",
                            f"--tokens={self.args.tokens}", *self.args.place, *options)

    def generate(self, package, folder, *options):
        """Two runs: with large steps for what was chosen, with as many tokens in a step as there are sequences for all logits, as a plan has room for."""
        os.makedirs(self.path(folder), exist_ok=True)
        common = ["strata-run", self.path(package), "--weights", self.args.folder, "--ignore-eos", "--poison", "--max-context", self.context,
                  "--max-new-tokens", self.args.new, *options]
        for prompt in self.prompts:
            common += ["--prompt-ids", ",".join(map(str, prompt))]
        large = ["--chunk", self.args.tokens] + (["--counters", self.path("counters.json")] if package == "placed.strata" else [])
        for kind in self.kinds:
            large += [f"--{kind}", self.path(f"{folder}/{kind}.npy")]
        tokens = run(*common, *large)
        small = ["--chunk", len(self.prompts), "--logits", self.path(f"{folder}/logits.npy")]
        if run(*common, *small) != tokens:
            sys.exit(f"{folder}: chunks of {len(self.prompts)} tokens give other tokens than chunks of {self.args.tokens}")
        with open(self.path(f"{folder}/tokens"), "w") as file:
            file.write(tokens)

    def find_least(self):
        """The least feasible budget, from the message that refuses less."""
        text = self.place("none.strata", 1).stderr
        found = re.findall(r"the least feasible size is (\d+) bytes", text)
        if len(found) != 1 or text.count("error: ") != 1:
            sys.exit(f"expected one error with the least feasible size but got:\n{text[:2000]}")
        least = int(found[0])
        refused = self.place("none.strata", least - 1)
        if refused.returncode != 1 or f"is {least} bytes" not in refused.stderr or os.path.exists(self.path("none.strata")):
            sys.exit(f"expected {least - 1} bytes to be refused but got {refused.returncode}:\n{refused.stderr[:2000]}")
        return least

    def find_all(self):
        """What is needed to keep everything near."""
        result = self.place("all.strata", 1 << 36, f"--write-plan={self.path('plan.json')}")
        if result.returncode:
            sys.exit(result.stderr[:2000])
        with open(self.path("plan.json")) as file:
            return json.load(file)["predicted"]["near_bytes"]

    def check(self, budget, is_all):
        placed = self.place("placed.strata", budget)
        if placed.returncode:
            sys.exit(f"{budget} bytes: {placed.stderr[:2000]}")
        self.generate("placed.strata", "found", "--late-transfers", 100)
        different = [name for name in sorted(os.listdir(self.path("expected")))
                     if not filecmp.cmp(self.path(f"expected/{name}"), self.path(f"found/{name}"), shallow=False)]
        if different or sorted(os.listdir(self.path("expected"))) != sorted(os.listdir(self.path("found"))):
            sys.exit(f"{budget} bytes: {', '.join(different)} differ from the run without limits")
        with open(self.path("counters.json")) as file:
            counters = json.load(file)
        near = counters["memory"][0]
        moved = sum(engine["bytes_to_near"] for engine in counters["engines"])
        if near["capacity"] != budget or near["peak_bytes"] > budget:
            sys.exit(f"{budget} bytes: expected that as the capacity and no larger peak but got {near}")
        if is_all and moved:
            sys.exit(f"{budget} bytes hold everything, but {moved} were moved")
        return f"{moved} moved near, {counters['hits']} hits, {counters['misses']} misses", moved

    def run(self):
        compiled = self.compile("whole.strata")
        if compiled.returncode:
            sys.exit(compiled.stderr)
        self.generate("whole.strata", "expected")
        least, everything = self.find_least(), self.find_all()
        steps = max(self.args.budgets - 1, 1)
        for step in range(steps + 1):
            budget = least + (everything - least) * step // steps
            text, moved = self.check(budget, budget == everything)
            if budget == least < everything and not moved:
                sys.exit(f"{budget} of {everything} bytes: expected that something is moved")
            print(f"{os.path.basename(self.args.folder.rstrip('/'))} within {budget} of {everything} bytes: equal; {text}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--format", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--budgets", type=int, default=16 if os.environ.get("STRATA_TEST_COUNTS") == "full" else 4)
    parser.add_argument("--sequences", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=16)
    parser.add_argument("--page-size", type=int, default=4)
    parser.add_argument("--new", type=int, default=12)
    parser.add_argument("--compile", action="append", default=[])
    parser.add_argument("--place", action="append", default=[])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        Checker(args, scratch).run()


if __name__ == "__main__":
    main()
