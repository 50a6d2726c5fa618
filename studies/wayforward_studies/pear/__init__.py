"""Regret against the number of questions: the experiments of De Toni et al. (2024), measured again."""
