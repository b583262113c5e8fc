"""`python -m hstar`: the same as the program `hstar`."""

from hstar.commands.cli import main

main()
