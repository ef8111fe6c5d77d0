"""Twice the layers are twice the commands, and not one kernel more: so compile time grows linearly with layers.

usage: check-growth.py CONFIG SCRATCH-FOLDER
"""

import json
import os
import re
import subprocess
import sys

config_path, folder = sys.argv[1:]
os.makedirs(folder, exist_ok=True)


def measure(copies):
    with open(config_path, encoding="utf-8") as file:
        config = json.load(file)
    config["num_hidden_layers"] *= copies
    config["indexer_types"] *= copies
    config["mlp_layer_types"] *= copies
    path = os.path.join(folder, f"config-{copies}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)
    module = subprocess.run(["strata-import", "--no-weights", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            check=True).stdout
    lowered = subprocess.run(["strata-compile", "-", "--to=lower", "-o", "-"], input=module, stdout=subprocess.PIPE,
                             check=True).stdout.decode()
    kernels, step = lowered.split("func.func @step")
    report = subprocess.run(["strata-compile", "-", "--report=json"], input=module, stdout=subprocess.PIPE, check=True).stdout
    return {"layers": config["num_hidden_layers"], "ops": step.count("\n"), "launches": json.loads(report)["launches"],
            "kernels": len(re.findall(r"func\.func @", kernels)), "code": len(kernels),
            "workspace": json.loads(report)["workspace_bytes"]}


one, two = measure(1), measure(2)
assert two["layers"] == 2 * one["layers"] == 156
for what in ("ops", "launches"):
    assert one[what] < two[what] <= 2 * one[what], (what, one, two)
for what in ("kernels", "code", "workspace"):
    assert one[what] == two[what], (what, one, two)
print("growth is linear")
