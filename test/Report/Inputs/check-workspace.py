"""The workspace of a report is what the executor allocates: its refusal of too little memory tells each part.

usage: check-workspace.py CHECKPOINT SCRATCH-FOLDER
"""

import json
import os
import re
import subprocess
import sys

checkpoint, folder = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
module, package = os.path.join(folder, "model.mlir"), os.path.join(folder, "model.strata")
subprocess.run(["strata-import", checkpoint, "-o", module], check=True)
subprocess.run(["strata-compile", module, "-o", package], check=True)
PROMPT = ",".join(str(token % 250) for token in range(100))


def refusal(limit, threads, chunk):
    """The parts that the executor names when it may use `limit` bytes; the prompt and 28 new tokens fill two pages."""
    run = subprocess.run(["strata-run", package, "--weights", checkpoint, "--prompt-ids", PROMPT, "--max-new-tokens", "29",
                          "--threads", str(threads), "--chunk", str(chunk), "--memory-limit", str(limit)],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert run.returncode != 0, "expected a refusal"
    return {name: int(size) for name, size in re.findall(r"(arena|caches|widened weights|scratch) (\d+)", run.stderr)}


def report(*options):
    text = subprocess.run(["strata-compile", module, "--report=json", *options], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(text)


def compare(threads, chunk, *options):
    large = refusal(1, threads, chunk)
    parts = refusal(sum(large.values()), threads, chunk)
    got = report(*options)
    assert got["arena_bytes"] == parts["arena"], (got["arena_bytes"], parts)
    assert got["scratch_bytes_per_thread"] * threads == parts["scratch"], (got["scratch_bytes_per_thread"], parts)
    assert got["workspace_bytes"] == got["arena_bytes"] + got["scratch_bytes_per_thread"]


compare(1, 1, "--context", "128")
compare(3, 1, "--context", "128")
# A chunk of all tokens is a prompt in one step; the pages are those of the decoding afterwards.
compare(1, 100, "--context", "100", "--step", "prefill")
print("workspaces agree")
