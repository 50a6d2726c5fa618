"""The table of methods: names, and where their classes are."""

from __future__ import annotations

from typing import Any

from wayforward.errors import MethodError
from wayforward.public import public
from wayforward.registry import Registry

METHODS = Registry(
    "method",
    "wayforward.methods",
    MethodError,
    {
        "local-search": "local_search:LocalSearch",
        "nearest-observable": "nearest_observable:NearestObservable",
        "nice": "nice:Nice",
        "growing-spheres": "growing_spheres:GrowingSpheres",
        "face": "face:Face",
        "wachter": "wachter:Wachter",
        "dice": "dice:Dice",
        "dece": "dece:Dece",
        "lowprofool": "lowprofool:LowProFool",
        "actionable-recourse": "actionable_recourse:ActionableRecourse",
        "action-sequences": "action_sequences:ActionSequences",
        "carma": "carma:Carma",
        "icarma": "icarma:ICarma",
        "causal-oracle": "causal_oracle:CausalOracle",
        "icarma-polished": "icarma_polished:Polished",
        "probabilistic": "probabilistic:Probabilistic",
        "revise": "revise:Revise",
        "cruds": "cruds:Cruds",
        "clue": "clue:Clue",
        "c-chvae": "c_chvae:CChvae",
        "cfrl": "cfrl:Cfrl",
        "mahajan": "mahajan:Mahajan",
        "plausible-counterfactuals": "plausible_counterfactuals:PlausibleCounterfactuals",
        "cem": "cem:Cem",
        "macem": "macem:Macem",
        "emap": "emap:Emap",
        "frace": "frace:Frace",
        "ebr": "ebr:Ebr",
        "ibr": "ibr:Ibr",
        "guided-prototypes": "prototypes:GuidedPrototypes",
        "roar": "roar:Roar",
        "rbr": "rbr:Rbr",
        "probe": "probe:Probe",
        "trex": "trex:Trex",
        "ocean": "ocean:Ocean",
        "relu-milp": "relu_milp:ReluMilp",
        "feature-tweaking": "feature_tweaking:FeatureTweaking",
        "lire": "lire:Lire",
        "gradient-boosted-counterfactuals": "gradient_boosted:GradientBoosted",
        "cbr": "cbr:Cbr",
        "hcls": "hcls:Hcls",
        "mc-brp": "mc_brp:McBrp",
        "clear": "clear:Clear",
        "weighted-counterfactuals": "weighted:WeightedCounterfactuals",
        "lore": "lore:Lore",
        "local-foil-trees": "local_foil_trees:LocalFoilTrees",
        "abele": "abele:Abele",
        "geco": "geco:GeCo",
        "moc": "moc:Moc",
        "certifai": "certifai:Certifai",
        "permute-attack": "permute_attack:PermuteAttack",
        "focus": "focus:Focus",
        "oae": "oae:Oae",
        "efficient-search": "efficient_search:EfficientSearch",
        "ordce": "ordce:OrdCe",
        "asp": "asp:Asp",
        "ceml": "ceml:Ceml",
        "dace": "dace:Dace",
        "fare": "fare:Fare",
        "efare": "efare:Efare",
        "mace": "mace:Mace",
        "polaris": "polaris:Polaris",
        "mint": "mint:Mint",
        "sedc": "sedc:Sedc",
        "lime-c": "lime_c:LimeC",
        "shap-c": "shap_c:ShapC",
        "shap-counterfactuals": "shap_counterfactuals:ShapCounterfactuals",
        "explanations-with-shap": "explanations_with_shap:ExplanationsWithShap",
        "vice": "vice:Vice",
        "sedc-t": "sedc_t:SedcT",
        "visual-counterfactuals": "visual_counterfactuals:VisualCounterfactuals",
        "scout": "scout:Scout",
        "comte": "comte:Comte",
        "gradual-construction": "gradual_construction:GradualConstruction",
        "prince": "prince:Prince",
        "survival-counterfactuals": "survival_counterfactuals:SurvivalCounterfactuals",
    },
)

register = METHODS.register
_COLUMNS = ("summary", "needs", "needs_data", "exact", "citation")


@public
def names() -> tuple[str, ...]:
    """Return the names of all methods."""
    return tuple(METHODS)


@public
def methods_table() -> list[dict[str, Any]]:
    """Return one row for each method: name, summary, needs (Access), needs_data, exact, citation."""
    return [
        {"name": name, **{column: getattr(METHODS.find(name), column) for column in _COLUMNS}}
        for name in METHODS
    ]
