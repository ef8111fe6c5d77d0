"""Compares what strata-sim adds up over a package's commands with what strata-compile reports of the model.

usage: check-costs.py FOLDER-OF-CONFIGS FOLDER-FOR-FILES
"""

import json
import os
import subprocess
import sys

MODELS = ["glm-5.2", "glm-5", "deepseek-v3.2"]
STEPS = [(1000, 1, [], []), (131072, 3, [], []),
         (131072, 2, ["--weights=fp8", "--cache=fp8"], ["--weights=fp8", "--cache=fp8"])]


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def main():
    configs, folder = sys.argv[1:]
    module, package = os.path.join(folder, "m.mlir"), os.path.join(folder, "m.strata")
    checks = 0
    for model in MODELS:
        run("strata-import", "--no-weights", os.path.join(configs, model + ".json"), "-o", module)
        run("strata-compile", module, "-o", package)
        for context, batch, report_options, sim_options in STEPS:
            sizes = ["--context", str(context), "--batch", str(batch)]
            report = json.loads(run("strata-compile", module, "--report=json", *sizes, *report_options))
            work = json.loads(run("strata-sim", package, "--machine=h200x8", "--report=json", *sizes, *sim_options))["work"]
            pairs = {
                "flops": report["flops"]["total"],
                "linear_flops": report["flops"]["linear"],
                "scan_flops": report["flops"]["scan"],
                "attention_flops": report["flops"]["attention"],
                "elementwise_flops": report["elementwise_flops"],
                "weight_bytes": report["bytes"]["weights"],
                "latent_bytes": report["bytes"]["latents"],
                "index_key_bytes": report["bytes"]["index_keys"],
                "cache_bytes_written": report["cache_bytes_written"],
            }
            for name, expected in pairs.items():
                checks += 1
                got = work[name] / batch
                if abs(got - expected) > 1e-9 * expected:
                    print(f"{model} at {context}, batch {batch}: {name}: expected {expected} but got {got}")
    print(f"{checks} numbers compared")


main()
