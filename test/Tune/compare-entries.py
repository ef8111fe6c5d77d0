"""usage: compare-entries.py TUNE.json SCRATCH: scores and FLOPs of each entry against those of the other tools."""

import json
import subprocess
import sys

with open(sys.argv[1]) as file:
    tuned = json.load(file)
module, scratch = sys.argv[2], sys.argv[2] + ".strata"


def run(*command):
    return subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True).stdout


run("strata-import", tuned["checkpoint"], "-o", module)
for entry in tuned["frontier"]:
    options = ["--schedule=" + entry["schedule"], "--allow-approximate=sharing"]
    run("strata-compile", module, *options, "--compute=f32", "--cache=f32", "--cpu=native", "-o", scratch)
    score = float(run("strata-run", scratch, "--weights", tuned["checkpoint"], "--score", tuned["text"], "--window",
                      tuned["window"]))
    report = json.loads(run("strata-compile", module, *options, "--report=json", "--context", tuned["context"]))
    if abs(score - entry["score"]) > 1e-5:
        sys.exit(f"{entry['schedule']}: strata-run says {score} but the search {entry['score']}")
    if report["flops"]["total"] != entry["flops"]:
        sys.exit(f"{entry['schedule']}: the report says {report['flops']['total']} FLOPs but the search {entry['flops']}")
    print(entry["schedule"])
