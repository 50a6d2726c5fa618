"""What the paper prints.

Source: R. Gao, H. Lakkaraju (2023), On the Impact of Algorithmic Recourse on Social Segregation, ICML: Tables 1 to 6.
"""

from __future__ import annotations

#: What is measured, in the order of the paper's rows; 'increases' counts the indices that got worse.
MEASURES = ("centralization", "atkinson", "proximity", "cost", "gap", "ynn", "invalid", "increases")
INDICES = MEASURES[:3]

_Line = tuple[float | None, ...]


def _table(rows: dict[str, _Line]) -> dict[str, dict[str, float]]:
    """Method -> measure -> number; what is not printed is left out."""
    return {
        method: {name: value for name, value in zip(MEASURES, line, strict=False) if value is not None}
        for method, line in rows.items()
    }


#: Tables 1, 2, 3 and 6 by setting, method and measure. Table 1 prints no invalidation but says that it is 0.
BY_METHOD: dict[str, dict[str, dict[str, float]]] = {
    "synthetic": _table(
        {
            "origin": (0.4803, 0.9496, 0.6409),
            "ibr": (0.3075, 0.6957, 0.7745, 0.3291, 0.0087, 0.9620, 0, 0),
            "ebr": (0.2695, 0.7435, 0.7840, 0.3925, 0.0197, 1, 0, 0),
            "c-chvae": (0.4953, 0.9971, 0.6772, 0.2448, 0.0166, 0.3003, 0, 2),
            "growing-spheres": (0.4804, 0.9455, 0.7012, 0.2410, 0.0147, 0.2699, 0, 1),
            "wachter": (0.4817, 0.9446, 0.7020, 0.2391, 0.0103, 0.2871, 0, 1),
            "cruds": (0.4951, 0.9971, 0.6983, 0.3872, 0.0169, 0.9968, 0, 2),
            "causal": (0.4804, 0.9638, 0.7019, 0.2430, 0.0144, 0.3008, 0, 2),
        }
    ),
    "german-sex": _table(
        {
            "origin": (0.0487, 0.1790, 0.3051),
            "ibr": (0.0452, 0.1731, 0.3769, 1.2402, 0.1404, 0.2142, 0.0013),
            "ebr": (0.0104, 0.1041, 0.3357, 1.4853, 0.1258, 0.1439, 0.3385),
            "c-chvae": (0.0384, 0.2342, 0.2974, 1.0995, 0.1374, 0.1690, 0.0013),
            "growing-spheres": (0.0452, 0.1754, 0.2592, 1.2575, 0.1422, 0.2094, 0),
            "wachter": (0.0803, 0.1965, 0.2726, 0.5123, 0.0874, 0.0888, 0.9893),
            "cruds": (0.1260, 0.2247, 0.4548, 1.7954, 0.0718, 0.0562, 0.8216),
        }
    ),
    "gmc-age": _table(
        {
            "origin": (0.3414, 0.1218, 0.5820),
            "ibr": (0.3314, 0.1193, 0.5902, 0.6335, 0.0596, 0.9741, 0),
            "ebr": (0.3374, 0.1216, 0.5853, 0.3565, 0.1082, 0.9541, 0),
            "c-chvae": (0.3331, 0.1248, 0.5884, 0.5156, 0.0810, 0.9623, 0),
            "growing-spheres": (0.3411, 0.1220, 0.5826, 0.1483, 0.0240, 0.5265, 0),
            "wachter": (0.3417, 0.1218, 0.5825, 0.1606, 0.0203, 0.5056, 0),
            "cruds": (0.3320, 0.1252, 0.5895, 0.6272, 0.0780, 1, 0),
        }
    ),
    "law-sex": _table(
        {
            "origin": (0.0858, 0.0319, 0.7027),
            "ibr": (0.0694, 0.0314, 0.7177, 0.3945, 0.0231, 1, 0),
            "ebr": (0.0805, 0.0318, 0.7076, 0.1334, 0.0111, 0.7098, 0),
            "c-chvae": (0.0743, 0.0345, 0.7173, 0.3914, 0.0302, 1, 0),
            "growing-spheres": (0.0829, 0.0318, 0.7055, 0.0974, 0.0078, 0.5475, 0),
            "wachter": (0.0833, 0.0326, 0.7070, 0.1168, 0.0092, 0.6231, 0),
            "cruds": (0.0932, 0.0387, 0.7168, 0.5384, 0.0188, 1, 0),
        }
    ),
    "law-race": _table(
        {
            "origin": (0.0288, 0.2512, 0.6660),
            "ibr": (0.0028, 0.1939, 0.7103, 0.4308, 0.0301, 1, 0),
            "ebr": (0.0137, 0.2418, 0.6833, 0.1699, 0.0206, 0.8422, 0),
            "c-chvae": (0.0025, 0.2374, 0.7035, 0.3914, 0.1690, 1, 0),
            "growing-spheres": (0.0245, 0.2436, 0.6739, 0.0977, 0.0402, 0.5510, 0),
            "wachter": (0.0175, 0.2401, 0.6782, 0.1168, 0.0444, 0.6231, 0),
            "cruds": (0.0020, 0.2130, 0.7111, 0.4629, 0.1064, 1, 0),
        }
    ),
    "compas-sex": _table(
        {
            "origin": (0.0020, 0.0581, 0.6371),
            "ibr": (0.0018, 0.0478, 0.6511, 0.5114, 0.0274, 0.8792, 0),
            "ebr": (0.0020, 0.0537, 0.6484, 0.2642, 0.0535, 0.9668, 0),
            "c-chvae": (0.0009, 0.0521, 0.6474, 0.2243, 0.0513, 0.8786, 0),
            "growing-spheres": (0.0025, 0.0508, 0.6409, 0.1247, 0.0227, 0.3233, 0),
            "wachter": (0.0027, 0.0522, 0.6405, 0.0958, 0.0150, 0.1860, 0.8448),
            "cruds": (0.0057, 0.0500, 0.6545, 0.6302, 0.1760, 1, 0),
        }
    ),
    "compas-race": _table(
        {
            "origin": (0.2947, 0.0709, 0.6236),
            "ibr": (0.2846, 0.0563, 0.6372, 0.2331, 0.0287, 0.8743, 0),
            "ebr": (0.2943, 0.0589, 0.6358, 0.2225, 0.0589, 0.9859, 0),
            "c-chvae": (0.2892, 0.0656, 0.6366, 0.2243, 0.0832, 0.8786, 0),
            "growing-spheres": (0.2986, 0.0627, 0.6288, 0.1243, 0.0129, 0.3233, 0),
            "wachter": (0.3010, 0.0654, 0.6281, 0.0958, 0.0130, 0.1860, 0.8448),
            "cruds": (0.3054, 0.0500, 0.6435, 0.6302, 0.0931, 1, 0),
        }
    ),
    # Table 4: another classifier on seven features.
    "german-causal": _table(
        {
            "origin": (0.2700, 0.0544, 0.0032),
            "causal": (0.2848, 0.0548, 0.0029, 0.0846, 0.0243, None, 0),
        }
    ),
}

#: The public notebook's figures of its one draw of the synthetic set (numpy's legacy seed 0); 93 of the refused of
#: one group got nothing from IBR.
NOTEBOOK: dict[str, dict[str, float]] = _table(
    {
        "origin": (0.4930556, 0.798, 0.6626241),
        "ibr": (0.277, 0.736, 0.780, 0.228, 0.217, 0.653, 93 / 295),
        "ebr": (0.295, 0.679, 0.834, 0.436, None, 1),
        "wachter": (0.5, 0.824, 0.736, 0.296, None, 0.649),
    }
)

#: Table 5: method and beta -> measures, on the synthetic set.
BY_BETA: dict[str, dict[str, float]] = _table(
    {
        "ebr beta=0.1": (0.4836, 0.7950, 0.7524, 0.3652, 0.0238, 1),
        "ebr beta=0.3": (0.2695, 0.7435, 0.7840, 0.3925, 0.0197, 1),
        "ebr beta=0.5": (0.3068, 0.7402, 0.7935, 0.4114, 0.0153, 1),
        "ebr beta=0.7": (0.3068, 0.6914, 0.8042, 0.4470, 0.0123, 1),
        "ibr beta=0.1": (0.3075, 0.6957, 0.7747, 0.3297, 0.0095, 0.9465),
        "ibr beta=1": (0.3075, 0.6957, 0.7745, 0.3291, 0.0087, 0.9620),
        "ibr beta=10": (0.3075, 0.6926, 0.7753, 0.3320, 0.0100, 0.9620),
        "ibr beta=100": (0.3075, 0.6975, 0.7746, 0.3292, 0.0088, 0.9620),
    }
)
