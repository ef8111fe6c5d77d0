#!/usr/bin/env python3
"""Runs a command after writing a changed config.json.

usage: with-config.py CONFIG OUT KEY=JSON... -- COMMAND...

A KEY a.b is b in a. The program becomes the command, so its exit code is the command's.
"""

import json
import os
import sys


def main():
    source, target, *rest = sys.argv[1:]
    end = rest.index("--")
    with open(source) as file:
        config = json.load(file)
    for change in rest[:end]:
        key, value = change.split("=", 1)
        *path, last = key.split(".")
        entry = config
        for part in path:
            entry = entry[part]
        entry[last] = json.loads(value)
    with open(target, "w") as file:
        json.dump(config, file)
    os.execvp(rest[end + 1], rest[end + 1:])


if __name__ == "__main__":
    main()
