"""``python -m wayforward``: the same as the command."""

from wayforward.cli import main

main()
