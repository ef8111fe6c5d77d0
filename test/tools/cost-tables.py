#!/usr/bin/env python3
"""Prints the tables of docs/costs.md from the tools' output, or compares them with what the page has.

usage: cost-tables.py FOLDER-OF-CONFIGS [docs/costs.md]

A table of the page lies between `<!-- table: NAME -->` and the next empty line. With the page given, exits with 1 and says
how they differ if a table is not the one that the tools give; otherwise ends with the line `N tables agree`.
"""

import json
import re
import subprocess
import sys

MODELS = {"glm-5": "GLM-5", "glm-5.2": "GLM-5.2", "deepseek-v3.2": "DeepSeek-V3.2"}
CONTEXTS = {"1K": 1 << 10, "4K": 4 << 10, "32K": 32 << 10, "128K": 128 << 10, "200K": 200 << 10, "1M": 1 << 20}


# FLOPs for one key of one head with expanded keys (256) and values (256), and in the latent space (576 and 512).
EXPANDED = (256 + 256) / (576 + 512)


def imported(folder, config):
    run = subprocess.run(["strata-import", "--no-weights", f"{folder}/{config}.json"], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, check=True)
    return run.stdout


def report(module, *options):
    run = subprocess.run(["strata-compile", "-", "--report=json", *options], input=module, stdout=subprocess.PIPE, check=True)
    return json.loads(run.stdout)


def row(*cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def table(head, rows):
    return "\n".join([row(*head), "|" + " --- |" * len(head), *(row(*cells) for cells in rows)])


def flops_table(reports):
    rows = []
    for label in CONTEXTS:
        cells = [label]
        for config in MODELS:
            flops = reports[config, label]["flops"]
            parts = [f"{flops[kind] / 1e9:.1f}" for kind in ("linear", "scan", "attention")]
            cells.append(f"**{flops['total'] / 1e9:.1f}** = {' + '.join(parts)}")
        cells.append(f"{reports['glm-5', label]['flops']['total'] / reports['glm-5.2', label]['flops']['total']:.3f}")
        rows.append(cells)
    return table(["context", *MODELS.values(), "GLM-5 / GLM-5.2"], rows)


def bytes_table(reports):
    rows = []
    for label in CONTEXTS:
        cells = [label]
        for config in MODELS:
            got = reports[config, label]
            fused = got["bytes"]["latents"] + got["bytes"]["index_keys"]
            cells += [f"{fused / 1e6:.1f}", f"{(fused + got['score_row_bytes']) / 1e6:.1f}"]
        rows.append(cells)
    head = ["context"] + [f"{name}, {column}" for name in MODELS.values() for column in ("fused", "with score rows")]
    return table(head, rows)


def storage_table(reports, modules):
    rows = []
    for config, name in MODELS.items():
        long = reports[config, "1M"]
        bf16 = report(modules[config], "--cache=bf16")["cache_bytes_per_token"]
        compiled = report(modules[config])
        rows.append([name, f"{long['cache_bytes_per_token']:,}", f"{bf16:,}", f"{compiled['cache_bytes_per_token']:,}",
                     f"{long['cache_bytes_per_token'] * (1 << 20) / (1 << 30):.1f}", f"{long['bytes']['weights'] / 1e9:.2f}",
                     f"{compiled['bytes']['weights'] / 1e9:.2f}"])
    return table(["model", "fp8, bytes a token", "bf16", "as compiled", "fp8, GiB for 1M tokens", "weights in fp8, GB",
                  "weights as stored, GB"], rows)


def ratio_table(modules):
    """GLM-5 / GLM-5.2 under several assumptions, all from the two models' own counts."""
    rows = [["21 of 78 layers score, attention in the latent space (what is executed)"],
            ["21 of 78, attention with expanded keys and values"],
            ["exactly a quarter of 78, in the latent space"],
            ["exactly a quarter of 78, expanded"]]
    for context in (1000000, 1 << 20):
        every, shared = (report(modules[config], "--context", str(context))["flops"] for config in ("glm-5", "glm-5.2"))
        # 57 layers do without an indexer; a quarter would be 58.5.
        quarter_linear = every["linear"] - (every["linear"] - shared["linear"]) / 57 * 58.5
        quarter = (quarter_linear, every["scan"] / 4)
        for cells, (linear, scan), expand in zip(
                rows, ((shared["linear"], shared["scan"]),) * 2 + (quarter,) * 2, (1, EXPANDED) * 2):
            attention = every["attention"] * expand
            cells.append(f"{(every['linear'] + every['scan'] + attention) / (linear + scan + attention):.2f}")
    return table(["assumption", "at 1,000,000 tokens", "at 1,048,576"], rows)


def step_table(modules):
    rows = []
    for config, name in MODELS.items():
        got = report(modules[config], "--context", str(1 << 17))
        before = got["before_fusion"]
        rows.append([name, before["launches"], got["launches"], f"{before['activation_bytes'] / 1e6:.1f}",
                     f"{got['activation_bytes'] / 1e6:.1f}", f"{got['workspace_bytes']:,}",
                     f"{got['elementwise_flops'] / 1e6:.1f}", f"{100 * got['elementwise_flops'] / got['flops']['total']:.3f} %"])
    return table(["model", "launches before fusion", "after", "buffers touched, MB, before", "after", "workspace, bytes",
                  "elementwise MFLOP", "of all"], rows)


def main():
    folder = sys.argv[1]
    modules = {config: imported(folder, config) for config in MODELS}
    reports = {(config, label): report(modules[config], "--cache=fp8", "--weights=fp8", "--context", str(context))
               for config in MODELS for label, context in CONTEXTS.items()}
    tables = {"flops": flops_table(reports), "bytes": bytes_table(reports), "storage": storage_table(reports, modules),
              "ratio": ratio_table(modules), "step": step_table(modules)}
    if len(sys.argv) == 2:
        for name, text in tables.items():
            print(f"<!-- table: {name} -->\n{text}\n")
        return
    with open(sys.argv[2], encoding="utf-8") as file:
        page = dict(re.findall(r"<!-- table: (\w+) -->\n(.*?)\n(?:\n|$)", file.read(), re.DOTALL))
    for name, text in tables.items():
        if page.get(name) != text:
            sys.exit(f"table {name} (without the page as an argument, this prints all tables): the tools give\n{text}\nbut the page has\n{page.get(name)}")
    print(len(tables), "tables agree")


main()
