"""Rules are text, read by a small grammar and judged over whole arrays; see `grammar` for the words.

`RuleSet` is the door. `abstract` proves things about boxes and finds contradictions; `expression` is
the tree that `wayforward.world.scm` shares.
"""

from wayforward.rules.ruleset import Rule, RuleSet

__all__ = ["Rule", "RuleSet"]
