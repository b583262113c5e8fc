"""Runs the parsers of Downward Lab on a log, as its experiments do: a program of its own.

Lab is GPL, so this file is started as another process and never imported. Usage:
``python lab_parsers.py RUN_DIRECTORY``; prints the parsed properties as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from downward.parsers.anytime_search_parser import AnytimeSearchParser
from downward.parsers.exitcode_parser import ExitcodeParser
from downward.parsers.planner_parser import PlannerParser
from downward.parsers.single_search_parser import SingleSearchParser
from downward.parsers.translator_parser import TranslatorParser
from lab.tools import Properties

directory = Path(sys.argv[1])
found = {}
for kind in ("single", "anytime"):
    search = SingleSearchParser() if kind == "single" else AnytimeSearchParser()
    properties = Properties()
    for parser in (ExitcodeParser(), TranslatorParser(), search, PlannerParser()):
        parser.parse(directory, properties)
    found[kind] = dict(properties)
print(json.dumps(found))
