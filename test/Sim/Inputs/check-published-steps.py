"""Simulates published situations with the real GLM-5.2: its config, compiled and placed.

usage: check-published-steps.py CONFIG FOLDER-FOR-FILES

SGLang (pull request 28523) measured steps of 18.15 ms without offloading, 25.32 ms with each transfer waited for, and 21.33 ms with those of
followers hidden. The first two go in.
"""

import json
import os
import subprocess
import sys

RESIDENT, SERIAL, FOLLOWERS_HIDDEN = 18.15, 25.32, 21.33


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def simulate(folder, package, machine, *options):
    path = os.path.join(folder, "sim.json")
    run("strata-sim", package, "--machine", machine, *options, "--json", path)
    with open(path) as file:
        return json.load(file)


def check(what, got, expected, tolerance):
    close = abs(got - expected) <= tolerance
    print(f"{what}: {got:.4g}" + ("" if close else f", expected {expected} to {tolerance}"))


def check_steps(module, folder):
    machine = os.path.join(os.path.dirname(__file__), "one-link.json")
    package = os.path.join(folder, "link.strata")
    # All latents are far at this budget: it is what the weights and index keys of 1M positions take, and some hot sets.
    run("strata-compile", module, "--machine", machine, "--context=1048576", "--tokens=8", "--hbm=1496GB", "-o", package)
    step = lambda *options: simulate(folder, package, machine, "--context=68K", "--misses=0.1", f"--compute-time={RESIDENT}ms",
                                     f"--transfer-time={SERIAL - RESIDENT}ms", *options)
    serial, followers, all_of_it = step("--overlap=none"), step("--overlap=followers"), step()
    check("serial, ms", serial["time_ns"] / 1e6, SERIAL, 0.01)
    check("transfers took no time, ms", all_of_it["what_if"][0]["time_ns"] / 1e6, RESIDENT, 0.01)
    check("followers hidden, ms", followers["time_ns"] / 1e6, 20.08, 0.01)
    check("of the published", followers["time_ns"] / 1e6 / FOLLOWERS_HIDDEN, 1, 0.07)
    check("share that followers hide", followers["hidden_share"], 57 / 78, 0.001)
    for guessed in (0.5, 0.8):
        share = step("--overlap=followers", f"--speculation={guessed}")["hidden_share"]
        # The first leader has no group before it.
        check(f"share with {guessed} of leaders' rows guessed", share, (57 + 20 * guessed) / 78, 0.002)
    check("hits first and bounded speculation, ms", all_of_it["time_ns"] / 1e6, 19.4, 0.3)


def check_million(module, folder):
    package = os.path.join(folder, "million.strata")
    run("strata-compile", module, "--machine=h200x8", "--context=1048576", "--batch=4", "--tokens=8", "-o", package)
    step = simulate(folder, package, "h200x8", "--context=1M", "--batch=4")
    near = step["memory"][0]
    print("fits:", all(tier["peak_bytes"] <= tier["capacity"] for tier in step["memory"]))
    print("weights are near:", step["traffic"]["weights"] == 0, "fp8:", near["classes"]["weights"] < 95e9)
    print("hidden:", step["transfer_ns"] > 0 and step["hidden_share"] >= 0.95)
    check("4 sequences with 1M positions each, ms", step["time_ns"] / 1e6, 13.5, 1.5)


def main():
    config, folder = sys.argv[1:]
    module = os.path.join(folder, "m.mlir")
    run("strata-import", "--no-weights", config, "-o", module)
    check_steps(module, folder)
    # The same model with the weights of fp8 checkpoints.
    with open(config) as file:
        model = json.load(file)
    model["quantization_config"] = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic",
                                    "weight_block_size": [128, 128]}
    config = os.path.join(folder, "fp8.json")
    with open(config, "w") as file:
        json.dump(model, file)
    run("strata-import", "--no-weights", config, "-o", module)
    check_million(module, folder)


main()
