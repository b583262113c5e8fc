"""The commands of the program, one file each. `add_parser` describes the arguments; `run` carries
the command out, imports what is slow to load, and returns the exit code."""
