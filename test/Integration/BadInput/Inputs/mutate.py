#!/usr/bin/env python3
"""Changes an input at random, a number of times, and runs the tools on it: they must succeed, or fail with the exit code 1 and one error.

usage: mutate.py config CONFIG SCRATCH ROUNDS [SEED]
       mutate.py module MODULE WEIGHTS SCRATCH ROUNDS [SEED]
       mutate.py package PACKAGE WEIGHTS SCRATCH ROUNDS [SEED]

config: one value of config.json becomes another, or goes; the error must be about it. module: numbers, types, words, lines of the MLIR
text change; it is compiled and run by the reference, and if it compiles by the CPU, which must not differ in whether it works. package:
bytes of the manifest change and the checksums are made to fit. A round fails loudly; its input stays in SCRATCH. Prints how many rounds
ended how.
"""

import collections
import json
import os
import random
import re
import struct
import subprocess
import sys

from package_file import manifest_of, with_manifest

PROMPT = ["--prompt-ids", "1,2,3,4,5,6,7,8,9,10,11", "--max-new-tokens", "3", "--memory-limit", "1G", "--threads", "2"]


class Tools:
    def __init__(self):
        self.codes = collections.Counter()

    def run(self, path, *command, may_crash=None, several_errors=False):
        """(exit code, standard error) of a command on the input at `path`."""
        result = subprocess.run(command, capture_output=True, timeout=120)
        text, code = result.stderr.decode(errors="replace"), result.returncode
        self.codes[f"{os.path.basename(command[0])} {code}"] += 1
        errors = len([line for line in text.splitlines() if "error: " in line])
        if code not in (0, 1) and may_crash and may_crash():
            return code, text
        if code not in (0, 1) or errors < code or errors > code and not (code and several_errors):
            sys.exit(f"{path}: exit code {code}, {errors} errors\n{' '.join(command)}\n{text[:2000]}")
        return code, text


def paths_of(config, prefix=()):
    for key, value in config.items():
        yield prefix + (key,)
        if isinstance(value, dict):
            yield from paths_of(value, prefix + (key,))


VALUES = [None, "", "abc", "FS", -1, 0, 1, 2, 3, 0.5, -0.5, 1e-300, 1e300, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 10**30, True, False, [], {}, [1],
          [None], ["full"], {"a": 1}, [[]], "9" * 100, "\0", "ü\n", ...]


def mutate_config(tools, chance, source, scratch):
    with open(source) as file:
        config = json.load(file)
    path = chance.choice(list(paths_of(config)))
    value = chance.choice(VALUES)
    entry = config
    for key in path[:-1]:
        entry = entry[key]
    if value is ...:
        del entry[path[-1]]
    else:
        entry[path[-1]] = value
    target = os.path.join(scratch, "config.json")
    with open(target, "w") as file:
        json.dump(config, file)
    tools.run(target, "strata-import", "--no-weights", target, "-o", os.path.join(scratch, "config.mlir"))


NUMBERS = ["0", "-1", "1", "2", "3", "5", "8", "64", "65", "1000000", "2147483648", "9223372036854775807", "-9223372036854775808",
           "18446744073709551616", "0.0", "-1.0", "1.0e300", "0x7FF0000000000000", "0x7FF8000000000000"]
WORDS = ["f32", "bf16", "f8E4M3FN", "i32", "index", "half", "interleaved", "none", "planar", "transposed", "normalise", "all", "window", "rows",
         "softmax", "sigmoid", "maximum", "key", "value", "key_value"]
TYPE = re.compile(r"(?:tensor|!strata\.\w+)(?:<[^>]*>)?")


def mutate_text(chance, text):
    lines, types = text.split("\n"), sorted(set(TYPE.findall(text)))
    for _ in range(chance.choice([1, 1, 1, 2])):
        at, kind = chance.randrange(len(lines)), chance.random()

        def replace(pattern, choices):
            found = list(re.finditer(pattern, lines[at]))
            if found:
                match = chance.choice(found)
                lines[at] = lines[at][:match.start()] + chance.choice(choices) + lines[at][match.end():]

        if kind < .05:
            del lines[at]
        elif kind < .10:
            lines.insert(at, chance.choice(lines))
        elif kind < .20:
            replace(TYPE, types)
        elif kind < .50:
            replace(r"-?\d+\.?\d*(?:e[+-]?\d+)?", NUMBERS)
        elif kind < .60:
            replace(r"[a-z_]\w*", WORDS)
        else:  # one number, wherever it stands
            found = re.findall(r"\d+", lines[at])
            if found:
                old, new = chance.choice(found), chance.choice(NUMBERS)
                number = re.compile(rf"(?<![\w.]){old}(?![\w.])|(?<=x){old}(?=x)|(?<=<){old}(?=x)")
                lines = [number.sub(new, line) for line in lines]
    return "\n".join(lines)


def mutate_module(tools, chance, source, weights, scratch):
    with open(source) as file:
        text = mutate_text(chance, file.read())
    module, package = os.path.join(scratch, "module.mlir"), os.path.join(scratch, "module.strata")
    with open(module, "w") as file:
        file.write(text)
    compiled, _ = tools.run(module, "strata-compile", module, "-o", package, "--cpu=x86-64", several_errors=True)
    reference, message = tools.run(module, "strata-run", module, "--device=reference", "--weights", weights, *PROMPT)
    if compiled == 0:
        cpu, other = tools.run(module, "strata-run", package, "--weights", weights, *PROMPT)
        # What is still a number in the reference's f64 may have become none in f32.
        if cpu != reference and "are NaN" not in other:
            sys.exit(f"{module}: only one of both devices runs this\ncpu: {other}\nreference: {message}")


def mutate_package(tools, chance, source, weights, scratch):
    with open(source, "rb") as file:
        package = file.read()
    manifest = bytearray(manifest_of(package))
    values = [0, 1, 2, -1, 3, 7, 8, 65, 255, 256, 1 << 15, 1 << 20, 2**31 - 1, -2**31, 1 << 40, 2**63 - 1, -2**63]
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        size = chance.choice([1, 4, 4, 8, 8])
        at = chance.randrange(len(manifest) // size) * size
        manifest[at:at + size] = (chance.choice(values) & (1 << 8 * size) - 1).to_bytes(size, "little")
    target = os.path.join(scratch, "package.strata")
    with open(target, "wb") as file:
        file.write(with_manifest(package, manifest))

    def commands(path):
        """Generated code reads what other commands wrote, and takes it for indices: what it does after other commands can't be checked."""
        text = subprocess.run(["strata-run", "--print", path], capture_output=True).stdout
        return [line for line in text.splitlines() if line.startswith(b"command ")]

    tools.run(target, "strata-run", "--print", target)
    tools.run(target, "strata-run", target, "--weights", weights, *PROMPT, may_crash=lambda: commands(source) != commands(target))


def main():
    kind, *files = sys.argv[1:]
    count = {"config": 2, "module": 3, "package": 3}[kind]
    rounds, seed = int(files[count]), int(files[count + 1]) if len(files) > count + 1 else 1
    os.makedirs(files[count - 1], exist_ok=True)
    tools, chance = Tools(), random.Random(seed)
    mutate = {"config": mutate_config, "module": mutate_module, "package": mutate_package}[kind]
    for number in range(rounds):
        try:
            mutate(tools, chance, *files[:count])
        except SystemExit as problem:
            sys.exit(f"{kind}, seed {seed}, round {number}: {problem}")
    print(", ".join(f"{name}: {number} times" for name, number in sorted(tools.codes.items())))


if __name__ == "__main__":
    main()
