"""Rules are text, read by a small grammar and judged over whole arrays; see `grammar` for the words.

`RuleSet` is the door. `boxes` proves things about whole boxes, `normal_form` writes conditions for solvers,
`contradiction` refutes; `expression` is the tree that `wayforward.world.scm` shares.
"""

from wayforward.rules.ruleset import Rule, RuleSet

__all__ = ["Rule", "RuleSet"]
