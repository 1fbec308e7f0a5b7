#!/usr/bin/env python3
"""Generates docs/options.md from the option table: batchproc --experimental-dump-help | scripts/options.py
>docs/options.md
"""

import json
import sys


def label(option):
    names = [("--" if name["kind"] == "long" else "-") + name["name"] for name in option["names"]]
    value = f" {option['valueName']}" if option["kind"] == "option" else ""
    return ", ".join(f"`{name}`" for name in names) + (f" `{value.strip()}`" if value else "")


def cell(text):
    return text.replace("|", "\\|").replace("<", "&lt;")


def row(option):
    notes = []
    if option.get("allValues"):
        notes.append(", ".join(f"`{value}`" for value in option["allValues"]))
    if option.get("defaultValue"):
        notes.append(f"default `{option['defaultValue']}`")
    return f"| {cell(label(option))} | {cell(option.get('abstract', ''))} | {cell('; '.join(notes))} |"


def main():
    commands = json.load(sys.stdin)["command"]["subcommands"]
    tables = {
        command["commandName"]: [row(option) for option in command["arguments"] if option["kind"] != "positional"]
        for command in commands
    }
    counts = {}
    for rows in tables.values():
        for line in rows:
            counts[line] = counts.get(line, 0) + 1
    common = [line for line in dict.fromkeys(line for rows in tables.values() for line in rows) if counts[line] > 3]
    head = ["| option | | values |", "|---|---|---|"]
    out = ["# All options", "", "Made by `scripts/options.py` of the one table from which help, manual and completions are made too.", "",
           "## Of several commands", "", *head,
           *(f"{line} {', '.join(name for name, rows in tables.items() if line in rows)} |" for line in common)]
    out[out.index(head[0])] = "| option | | values | commands |"
    out[out.index(head[1])] = "|---|---|---|---|"
    for command in commands:
        own = [line for line in tables[command["commandName"]] if line not in common]
        if own:
            out += ["", f"## `{command['commandName']}`", "", command["abstract"], "", *head, *own]
    print("\n".join(out))


main()
