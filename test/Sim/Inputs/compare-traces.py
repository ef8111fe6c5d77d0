"""Compares the measured and the predicted trace of one run: the same tracks, counters and events, by name and number, but for stalls.

usage: compare-traces.py MEASURED PREDICTED
"""

import collections
import json
import sys


def read(path):
    with open(path) as file:
        events = json.load(file)["traceEvents"]
    tracks = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M" and event["name"] == "thread_name"}
    counters = {event["name"] for event in events if event["ph"] == "C"}
    commands, transfers, stalls = collections.Counter(), collections.Counter(), set()
    for event in events:
        if event["ph"] != "X":
            continue
        track = tracks[event["tid"]]
        if event["cat"] == "transfer":
            if not track.startswith("link "):
                transfers[track, event["name"], event["args"]["bytes"], event["args"]["step"]] += 1
        elif event["cat"] == "stall":
            stalls.add(event["name"])
        elif track == "compute" and event["cat"] != "step":
            commands[event["name"], event["cat"], event["args"]["step"]] += 1
    return set(tracks.values()), counters, commands, transfers, stalls


def main():
    measured, predicted = read(sys.argv[1]), read(sys.argv[2])
    tracks = [{name for name in side[0] if not name.startswith(("worker ", "link "))} for side in (measured, predicted)]
    print("tracks:", *sorted(tracks[0]), "" if tracks[0] == tracks[1] else f"against {sorted(tracks[1])}")
    # What took no time is no event of a prediction.
    print("counters differ in:", *sorted((measured[1] ^ predicted[1]) - {"stall ns"}))
    only = lambda a, b: sorted(a - b)[:5]
    for name, index in (("commands", 2), ("transfers", 3)):
        print(f"{name}:", sum(measured[index].values()) > 0, only(measured[index], predicted[index]), only(predicted[index], measured[index]))
    print("stalls:", bool(measured[4] and predicted[4]))


main()
