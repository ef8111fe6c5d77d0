"""Compares what strata-run counted in a run with what strata-sim says of the same run: hits, misses, transfers and bytes of each
engine, and peaks of memory must be equal.

usage: check-exact.py FOLDER-OF-MODELS FOLDER-FOR-FILES MODEL...
"""

import json
import os
import re
import subprocess
import sys

PROMPTS = [[3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8], [2, 7, 1, 8, 2, 8, 1, 8, 2, 8, 4, 5], [1, 6, 1, 8, 0, 3, 3, 9, 8, 8, 7, 4]]
NEW_TOKENS = 40
# Positions of a sequence, sequences, the most tokens of a step.
PLANS = [(64, 1, 8), (64, 3, 16)]
# Budgets as multiples of the least feasible one.
BUDGETS = [1.0, 1.1, 1.4, 2.0]
COUNTS = ["hits", "misses", "own_records", "speculated", "engines"]


def run(*command, check=True):
    return subprocess.run(command, check=check, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def main():
    models, folder, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    path = lambda name: os.path.join(folder, name)
    runs = moved = 0
    for name in names:
        checkpoint = os.path.join(models, name)
        run("strata-import", "--no-weights", checkpoint, "-o", path("m.mlir"))
        for context, batch, tokens in PLANS:
            place = ["strata-compile", path("m.mlir"), "--machine=cpu-two-tier", f"--context={context}", f"--batch={batch}",
                     f"--tokens={tokens}", "-o", path("m.strata")]
            refusal = run(*place, "--hbm=4096B", check=False).stderr
            least = int(re.search(r"least feasible size is (\d+) bytes", refusal)[1])
            for factor in BUDGETS:
                run(*place, f"--hbm={int(least * factor)}B")
                prompts = [f"--prompt-ids={','.join(map(str, prompt))}" for prompt in PROMPTS[:batch]]
                run("strata-run", path("m.strata"), "--weights", checkpoint, *prompts, f"--max-new-tokens={NEW_TOKENS}",
                    f"--chunk={tokens}", "--ignore-eos", "--rows", path("r.npy"), "--counters", path("run.json"))
                rows = ["r.npy"] if batch == 1 else [f"r-{i}.npy" for i in range(batch)]
                traces = [f"--trace={path(each)}" for each in rows]
                run("strata-sim", path("m.strata"), "--machine=cpu-two-tier", *traces, f"--prompt-tokens={len(PROMPTS[0])}",
                    f"--chunk={tokens}", "--json", path("sim.json"))
                with open(path("run.json")) as file:
                    counted = json.load(file)
                with open(path("sim.json")) as file:
                    simulated = json.load(file)
                runs += 1
                moved += sum(engine["bytes_to_near"] + engine["bytes_to_far"] for engine in counted["engines"])
                where = f"{name}, batch {batch}, {factor} x {least} bytes"
                for each in COUNTS:
                    if counted[each] != simulated[each]:
                        print(f"{where}: {each}: counted {counted[each]} but simulated {simulated[each]}")
                for tier, other in zip(counted["memory"], simulated["memory"]):
                    if tier["peak_bytes"] != other["peak_bytes"]:
                        print(f"{where}: {tier['name']}: counted {tier['peak_bytes']} bytes but simulated {other['peak_bytes']}")
    print(f"{runs} runs compared" if moved else "nothing moved")


main()
