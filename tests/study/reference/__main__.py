"""Write the answers and mgcv's fits."""

from __future__ import annotations

from tests.study.reference import CASES, HERE, TABLES, answers, mgcv

for table in TABLES:
    made = answers(table)
    rows = zip(*made.values(), strict=True)
    lines = [",".join(made), *(",".join(f"{v:.6f}".rstrip("0").rstrip(".") for v in row) for row in rows)]
    (HERE / f"{table}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
for case in CASES:
    (HERE / f"{'-'.join(case)}.txt").write_text(mgcv(*case), encoding="utf-8")
