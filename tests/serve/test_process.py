"""What a server holds in memory before it has read a model, by the names of modules."""

from __future__ import annotations

import json
import subprocess
import sys

_BEFORE = """
import json, sys
from wayforward.serve.http.app import create_app
from wayforward.serve.http import api, applicant, audits, entrance, staff, study, study_task
from wayforward.serve.start import prepare, warm
from wayforward.serve.process import begin_process
begin_process()
held = sorted({name.partition(".")[0] for name in sys.modules})
import numpy as np, pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.preprocessing import OneHotEncoder
frame = pd.DataFrame({"home": ["rent", "own", None], "age": [30.0, np.nan, 50.0]})
coded = make_column_transformer((OneHotEncoder(sparse_output=False), ["home"]), remainder="passthrough")
print(json.dumps([held, coded.fit_transform(frame).tolist()[0]]))
"""


def test_a_server_without_a_model_holds_no_library_that_only_a_model_a_table_or_a_chart_needs():
    """pandas with pyarrow came with scikit-learn (64 MB), which itself reads tables of pandas as before."""
    done = subprocess.run([sys.executable, "-c", _BEFORE], capture_output=True, text=True, check=True)
    held, row = json.loads(done.stdout.splitlines()[-1])
    assert "sklearn" in held and "skops" in held  # a later thread would import torch with it
    assert not {"pandas", "pyarrow", "matplotlib", "torch", "numba", "llvmlite", "lightgbm", "polars"} & set(
        held
    )
    assert row == [0.0, 1.0, 0.0, 30.0]
