"""Compares reports of published configs with independent counts of their formulas, to 0.1 %.

usage: check-published.py FOLDER-OF-CONFIGS

The numbers below were computed from the configs by a program that knows nothing of this one: FLOPs of one decoded token
(a multiply-add is two) and bytes that it reads, at each context.
"""

import json
import subprocess
import sys

# linear FLOPs; bytes of a token in the caches with fp8 and bf16; then for each context: scan and attention FLOPs, bytes of
# attended records and of index keys (fp8), bytes of a row of scores written and read.
MODELS = {
    "glm-5": (81663885312, 61464, 100152, {
        1024: (654311424, 11123294208, 52396032, 10543104, 638976),
        4096: (2617245696, 22246588416, 104792064, 42172416, 2555904),
        32768: (20937965568, 22246588416, 104792064, 337379328, 20447232),
        131072: (83751862272, 22246588416, 104792064, 1349517312, 81788928),
        204800: (130862284800, 22246588416, 104792064, 2108620800, 127795200),
        1048576: (670014898176, 22246588416, 104792064, 10796138496, 654311424)}),
    "glm-5.2": (80595517440, 53940, 92628, {
        1024: (176160768, 11123294208, 52396032, 2838528, 172032),
        4096: (704643072, 22246588416, 104792064, 11354112, 688128),
        32768: (5637144576, 22246588416, 104792064, 90832896, 5505024),
        131072: (22548578304, 22246588416, 104792064, 363331584, 22020096),
        204800: (35232153600, 22246588416, 104792064, 567705600, 34406400),
        1048576: (180388626432, 22246588416, 104792064, 2906652672, 176160768)}),
    "deepseek-v3.2": (74952212480, 48068, 78324, {
        1024: (1023410176, 17397972992, 40976384, 8245248, 499712),
        4096: (4093640704, 34795945984, 81952768, 32980992, 1998848),
        32768: (32749125632, 34795945984, 81952768, 263847936, 15990784),
        131072: (130996502528, 34795945984, 81952768, 1055391744, 63963136),
        204800: (204682035200, 34795945984, 81952768, 1649049600, 99942400),
        1048576: (1047972020224, 34795945984, 81952768, 8443133952, 511705088)}),
}

checks = 0


def close(got, expected, what):
    global checks
    checks += 1
    if abs(got - expected) > 1e-3 * expected:
        sys.exit(f"{what}: expected {expected} but got {got}")


def report(module, *options):
    run = subprocess.run(["strata-compile", "-", "--report=json", *options], input=module, stdout=subprocess.PIPE, check=True)
    return json.loads(run.stdout)


totals = {}
for model, (linear, fp8, bf16, contexts) in MODELS.items():
    module = subprocess.run(["strata-import", "--no-weights", f"{sys.argv[1]}/{model}.json"], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, check=True).stdout
    for context, (scan, attention, latents, keys, scores) in contexts.items():
        got = report(module, "--cache=fp8", "--weights=fp8", "--context", str(context))
        where = f"{model} at {context}"
        close(got["flops"]["linear"], linear, where + ", linear")
        close(got["flops"]["scan"], scan, where + ", scan")
        close(got["flops"]["attention"], attention, where + ", attention")
        close(got["flops"]["total"], linear + scan + attention, where + ", all FLOPs")
        close(got["bytes"]["latents"], latents, where + ", latents")
        close(got["bytes"]["index_keys"], keys, where + ", index keys")
        close(got["bytes"]["weights"], linear / 2, where + ", weights of one byte each")
        close(got["bytes"]["total"], linear / 2 + latents + keys, where + ", all bytes")
        close(got["score_row_bytes"], scores, where + ", rows of scores")
        close(got["cache_bytes_per_token"], fp8, where + ", bytes in caches")
        layers = got["layers"] + [got["outside_layers"]]
        for group, name in (("flops", "total"), ("bytes", "total"), ("flops", "scan"), ("bytes", "weights")):
            close(sum(layer[group][name] for layer in layers), got[group][name], f"{where}, {group} of layers")
        totals[model, context] = got
    close(report(module, "--cache=bf16")["cache_bytes_per_token"], bf16, model + ", bytes in bf16 caches")

at = 1 << 20
close(totals["glm-5", at]["flops"]["total"] / totals["glm-5.2", at]["flops"]["total"], 2.732, "ratio at 1M")
for model, megabytes in (("glm-5", 10901), ("glm-5.2", 3011)):
    read = totals[model, at]["bytes"]
    close((read["latents"] + read["index_keys"]) / 1e6, megabytes, model + ", fused column")

layers = totals["glm-5.2", at]["layers"]
leaders = [layer["layer"] for layer in layers if layer["role"] == "leader"]
assert leaders == [0, 1, 2] + list(range(6, 75, 4)), leaders
assert [layer["layer"] for layer in layers] == list(range(78))
for layer in layers:
    expected = max(leader for leader in leaders if leader <= layer["layer"])
    assert layer["leader"] == expected and layer["group"] == leaders.index(expected), layer
    assert layer["role"] == ("leader" if layer["leader"] == layer["layer"] else "follower"), layer
    shares = layer["shares"]
    assert abs(shares["linear"] + shares["scan"] + shares["attention"] - 1) < 1e-9, layer
print(checks, "numbers agree")
