"""The record of a fault run: each test writes its rows, scripts/faults prints them as one table.

A test calls record() once for each figure it promises. A row that is not ok fails its test when the
test ends (conftest.py), so that all figures of a test are seen and not only the first bad one.
Run as a program with the path of a record, it prints the table and fails when a row is not ok.
"""
import json
import os
import re
import sys

rows = []  # of this process


def record(row, what, expected, measured, ok):
    """One figure. `row`: the fault's number such as "F5", or what the row is about. `what` was done.
    `expected` and `measured`: texts for people. `ok` None: a figure that is only reported, such as
    milliseconds on a machine that may be busy. Returns whether the row holds."""
    entry = {"row": row, "what": what, "expected": expected, "measured": str(measured),
             "ok": None if ok is None else bool(ok)}
    rows.append(entry)
    path = os.environ.get("PENSTOCK_FAULTS_REPORT")
    if path:
        with open(path, "a", encoding="utf-8") as out:
            out.write(json.dumps(entry) + "\n")
    return entry["ok"] is not False


def order(entry):
    number = re.match(r"F(\d+)", entry["row"])
    return (int(number.group(1)) if number else sys.maxsize, entry["row"])


def table(entries):
    head = ("row", "what was done", "expected", "measured", "verdict")
    lines = [head] + [(e["row"], e["what"], e["expected"], e["measured"], {True: "ok", False: "FAILED", None: "-"}[e["ok"]])
                      for e in sorted(entries, key=order)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)


def main(path):
    with open(path, encoding="utf-8") as lines:
        entries = [json.loads(line) for line in lines]
    if not entries:
        print("faults: no row was recorded")
        return 1
    print(table(entries))
    bad = sum(e["ok"] is False for e in entries)
    print(f"faults: {len(entries)} figures, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
