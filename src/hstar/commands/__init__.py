"""The commands of the program, one file each: arguments in, exit code out.

A file has `add_parser`, which describes the arguments, and `run`, which carries the command out and
imports what is slow to load only then.
"""
