"""``python -m wayforward``: the same as the command."""

import sys

from wayforward.cli import main

sys.exit(main())
