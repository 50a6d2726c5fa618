"""Table 1 of the survey: every system that it lists, under its name here, or the reason why it has none.

Source: Karimi, Barthe, Schölkopf & Valera (2022), A survey of algorithmic recourse: contrastive explanations and
consequential recommendations, ACM Computing Surveys 55(5), arXiv:2010.04050, Table 1.
"""

from __future__ import annotations

from dataclasses import dataclass

from wayforward.errors import DataError
from wayforward.methods.registry import METHODS


@dataclass(frozen=True)
class SurveyedSystem:
    """A row of the table. when: year and month. solution, access: as the survey has them.

    ours: names of methods here. remark: what else there is, or why there is none.
    """

    when: str
    name: str
    solution: str
    access: str
    ours: tuple[str, ...] = ()
    remark: str = ""


_OF_BOTH = "also of images (ImageProblem) and series (SeriesProblem)"
_OF_CURVES = "on survival models (SurvivalProblem)"
_OF_GRAPHS = "on recommenders (RecommenderProblem), and linear models"
_TRAINED = "no method: trains another model, wayforward.training.{}"

SURVEYED: tuple[SurveyedSystem, ...] = tuple(
    SurveyedSystem(when, name, solution, access, tuple(ours.split()), remark)
    for when, name, solution, access, ours, remark in (
        ("2014-03", "SEDC", "heuristic", "query", "sedc", "also of texts (TextProblem)"),
        ("2015-08", "OAE", "ILP", "white-box", "oae", ""),
        ("2016-05", "HCLS", "grad opt/heuristic", "gradient/query", "hcls", ""),
        ("2017-06", "Feature Tweaking", "heuristic", "white-box", "feature-tweaking", ""),
        ("2017-11", "CF Expl.", "grad opt", "gradient", "wachter", ""),
        ("2017-12", "Growing Spheres", "heuristic", "query", "growing-spheres", ""),
        ("2018-02", "CEM", "FISTA", "class prob.", "cem", ""),
        ("2018-02", "POLARIS", "heuristic", "gradient", "polaris", ""),
        ("2018-05", "LORE", "gen alg + heuristic", "query", "lore", ""),
        ("2018-06", "Local Foil Trees", "heuristic", "query", "local-foil-trees", ""),
        ("2018-09", "Actionable Recourse", "ILP", "white-box", "actionable-recourse", ""),
        ("2018-11", "Weighted CFs", "heuristic", "query", "weighted-counterfactuals", ""),
        ("2019-01", "Efficient Search", "MILP", "white-box", "efficient-search", ""),
        ("2019-04", "CF Visual Expl.", "greedy search", "white-box", "visual-counterfactuals", _OF_BOTH),
        ("2019-05", "MACE", "SAT", "white-box", "mace", ""),
        ("2019-05", "DiCE", "grad opt", "gradient", "dice", ""),
        ("2019-05", "CERTIFAI", "gen alg", "query", "certifai", ""),
        ("2019-06", "MACEM", "FISTA", "query", "macem", "categories by frequency (FMA) or by drawn levels (SSA)"),
        ("2019-06", "Expl. using SHAP", "heuristic", "query", "explanations-with-shap", ""),
        ("2019-07", "Nearest Observable", "brute force", "dataset", "nearest-observable", ""),
        ("2019-07", "Guided Prototypes", "grad opt/FISTA", "gradient/query", "guided-prototypes", ""),
        ("2019-07", "REVISE", "grad opt", "gradient", "revise", ""),
        ("2019-08", "CLEAR", "heuristic", "query", "clear", ""),
        ("2019-08", "MC-BRP", "heuristic", "query", "mc-brp", "large errors by large_errors"),
        ("2019-09", "FACE", "graph + heuristic", "query", "face", ""),
        ("2019-09", "Equalizing Recourse", "ILP/heuristic", "white-box/query", "",
         _TRAINED.format("EqualizingRecourse")),
        ("2019-10", "Action Sequences", "program synthesis", "class prob.", "action-sequences", ""),
        ("2019-10", "C-CHVAE (Pawelczyk, Haug et al.)", "grad opt + heuristic", "query + gradient", "c-chvae", ""),
        ("2019-11", "FOCUS", "grad opt + heuristic", "white-box", "focus", ""),
        ("2019-12", "Model-based CFs", "grad opt", "gradient", "mahajan", "no feasibility by examples"),
        ("2019-12", "LIME-C/SHAP-C", "heuristic", "query", "lime-c shap-c", ""),
        ("2019-12", "EMAP", "grad opt", "dataset/query", "emap", ""),
        ("2019-12", "PRINCE", "graph + heuristic", "query", "prince", _OF_GRAPHS),
        ("2019-12", "LowProFool", "grad opt", "gradient", "lowprofool", ""),
        ("2020-01", "ABELE", "gen alg + heuristic", "query + data", "abele", "also of images (ImageProblem)"),
        ("2020-01", "SHAP-based CFs", "heuristic", "query", "shap-counterfactuals", ""),
        ("2020-02", "CEML", "grad opt/heuristic", "gradient/query", "ceml", ""),
        ("2020-02", "MINT", "SAT", "white-box", "mint", ""),
        ("2020-03", "ViCE", "heuristic", "query", "vice", ""),
        ("2020-03", "Plausible CFs", "grad opt + gen alg", "dataset", "plausible-counterfactuals", ""),
        ("2020-04", "SEDC-T", "heuristic", "query", "sedc-t", _OF_BOTH),
        ("2020-04", "MOC", "gen alg", "query", "moc", ""),
        ("2020-04", "SCOUT", "grad opt", "gradient", "scout", _OF_BOTH),
        ("2020-04", "ASP-based CFs", "answer-set prog.", "query", "asp", ""),
        ("2020-05", "CBR-based CFs", "heuristic", "query + data", "cbr", ""),
        ("2020-06", "Survival Model CFs", "gen alg", "query", "survival-counterfactuals", _OF_CURVES),
        ("2020-06", "Probabilistic Recourse", "grad opt/brute force", "gradient/query", "probabilistic", ""),
        ("2020-06", "C-CHVAE (Pawelczyk, Broelemann et al.)", "grad opt", "gradient", "c-chvae", ""),
        ("2020-07", "FRACE", "grad opt", "gradient", "frace", ""),
        ("2020-07", "DACE", "MILP", "white-box", "dace", ""),
        ("2020-07", "CRUDS", "grad opt", "gradient/data", "cruds", ""),
        ("2020-07", "Gradient Boosted CFs", "heuristic", "data", "gradient-boosted-counterfactuals", ""),
        ("2020-08", "Gradual Construction", "heuristic", "class prob.", "gradual-construction", _OF_BOTH),
        ("2020-08", "DECE", "grad opt", "gradient", "dece", "subgroups by Dece.subgroup; no interface"),
        ("2020-08", "Time Series CFs", "heuristic", "query", "comte", "also of series (SeriesProblem)"),
        ("2020-08", "PermuteAttack", "gen alg", "query", "permute-attack", ""),
        ("2020-10", "Fair Causal Recourse", "grad opt/brute force", "gradient/query", "",
         "audits measure it (twins); trains another model, wayforward.training.CausallyFairInputs"),
        ("2020-10", "Recourse Summaries", "itemset mining alg", "query", "", "in audits (AReS)"),
        ("2020-10", "Strategic Recourse", "Nelder-Mead", "query", "", _TRAINED.format("StrategicRecourse")),
        ("2020-11", "PARE", "grad opt + heuristic", "query", "", _TRAINED.format("PARE")),
    )
)  # fmt: skip


def beyond() -> tuple[str, ...]:
    """Names of the methods here that the survey does not list."""
    listed = {name for row in SURVEYED for name in row.ours}
    return tuple(name for name in METHODS if name not in listed)


def systems_of(method: str) -> tuple[str, ...]:
    """The survey's names of a method. Raises: DataError for a name that is no method."""
    if method not in METHODS:
        raise DataError(f"There is no method '{method}'. See: wayforward methods.")
    return tuple(row.name for row in SURVEYED if method in row.ours)
