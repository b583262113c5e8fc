"""The commands of the program, one file each: HELP and DESCRIPTION are texts, `add_arguments` says
what it takes, and `run` carries it out, imports what is slow to load, and returns the exit code."""
