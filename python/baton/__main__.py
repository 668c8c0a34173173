"""`python -m baton`: the command line."""

from baton.cli import main

main()
