from __future__ import annotations

import json
import pickle
import subprocess
import sys
import zipfile
from importlib.util import find_spec

import numpy as np
import pytest

from wayforward.errors import FileFormatError
from wayforward.model import ZOO, load, save, train, wrap


@pytest.mark.parametrize("name", ZOO)
def test_the_whole_zoo_saves_and_loads(name, frame, trained, schema, tmp_path):
    model = wrap(trained(name), schema)
    path = save(model, tmp_path / "model.skops")
    again = load(path, schema)
    x = schema.encode(frame)
    assert np.array_equal(again.outputs(x), model.outputs(x))
    assert again.access == model.access and again.classes == model.classes


def test_boosters_in_their_own_formats(full, y, full_schema, tmp_path):
    x = full_schema.encode(full)
    xgb, lgb, cat = (pytest.importorskip(n) for n in ("xgboost", "lightgbm", "catboost"))
    made = [
        (xgb.XGBClassifier(n_estimators=5, n_jobs=1).fit(x, y), ["m.ubj", "m.json"]),
        (lgb.LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1).fit(x, y), ["m.txt"]),
        (
            cat.CatBoostClassifier(iterations=5, verbose=0, thread_count=1, allow_writing_files=False).fit(
                x, y
            ),
            ["m.cbm"],
        ),
    ]
    for model, names in made:
        for name in names:
            again = load(save(wrap(model, full_schema), tmp_path / name), full_schema)
            np.testing.assert_allclose(again.outputs(x), model.predict_proba(x), atol=1e-6)


def test_torch_weights_with_a_plain_architecture(full, full_schema, tmp_path):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Linear(12, 8), torch.nn.ReLU(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 2, bias=False)
    )
    x = full_schema.encode(full)
    model = wrap(module, full_schema)
    again = load(save(model, tmp_path / "net.safetensors"), full_schema)
    assert np.array_equal(again.native(x)[0], model.native(x)[0])

    class Own(torch.nn.Module):
        def forward(self, z):
            return z[:, :1]

    with pytest.raises(
        FileFormatError, match="A Own has code of its own, which a file cannot hold. Export it to ONNX"
    ):
        save(Own(), tmp_path / "own.safetensors")


class Bomb:
    def __reduce__(self):
        return (print, ("a pickle was run",))


@pytest.mark.parametrize("name", ["m.pkl", "m.joblib", "m.pickle", "m.pt"])
def test_pickles_are_refused_unread(name, full_schema, tmp_path, capsys):
    path = tmp_path / name
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(
        FileFormatError, match=rf"'{name}' is a pickle.*Save the model again with wayforward.model.save"
    ):
        load(path, full_schema)
    with pytest.raises(FileFormatError, match="is a pickle"):
        save(Bomb(), path)
    assert capsys.readouterr().out == ""


def test_a_pickle_under_another_name_is_refused(full_schema, tmp_path, capsys):
    for name in ("m.skops", "m.safetensors", "m.onnx", "m.txt", "m.cbm", "m.ubj"):
        path = tmp_path / name
        path.write_bytes(pickle.dumps(Bomb()))
        if name == "m.safetensors" and find_spec("torch") is None:
            continue  # asks for torch first
        with pytest.raises(FileFormatError, match=f"'{name}'"):
            load(path, full_schema)
    assert "a pickle was run" not in capsys.readouterr().out


def hostile(path, module: str, name: str) -> None:
    """A skops file that asks for a function to be called."""
    schema = {
        "__class__": name,
        "__module__": module,
        "__loader__": "FunctionNode",
        "content": name,
        "protocol": 2,
        "_skops_version": "0.11",
    }
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", json.dumps(schema))


@pytest.mark.parametrize(
    ("module", "name"), [("os", "system"), ("builtins", "exec"), ("sklearn.tree._tree", "os.system")]
)
def test_a_hostile_skops_file_is_refused(module, name, full_schema, tmp_path):
    path = tmp_path / "evil.skops"
    hostile(path, module, name)
    with pytest.raises(FileFormatError, match="'evil.skops' (holds the type|cannot be read)"):
        load(path, full_schema)


def test_functions_inside_a_pipeline_are_not_loaded(full, y, full_schema, tmp_path):
    import skops.io
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    model = make_pipeline(FunctionTransformer(np.asarray), StandardScaler(), LogisticRegression()).fit(
        full_schema.encode(full), y
    )
    path = tmp_path / "function.skops"
    path.write_bytes(skops.io.dumps(model))
    found = skops.io.get_untrusted_types(file=path)
    if found:
        with pytest.raises(FileFormatError, match="which is not on the list of types that are loaded"):
            load(path, full_schema)
    else:
        assert load(path, full_schema).outputs(full_schema.encode(full)).shape == (len(full), 2)


def test_a_zip_bomb_is_refused(full_schema, tmp_path):
    path = tmp_path / "bomb.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b"0" * 40_000_000)
    with pytest.raises(
        FileFormatError, match=r"unpacks from [\d,]+ to 40,000,000 bytes, which no model does"
    ):
        load(path, full_schema)


def test_other_endings_and_missing_files(full, y, full_schema, tmp_path):
    (tmp_path / "m.bin").write_bytes(b"x")
    with pytest.raises(FileFormatError, match="'m.bin' has an ending that is not known. Use .skops"):
        load(tmp_path / "m.bin", full_schema)
    with pytest.raises(FileFormatError, match="The model file 'm.skops' does not exist"):
        load(tmp_path / "m.skops", full_schema)
    model = train("lr", full_schema, full, y)
    with pytest.raises(FileFormatError, match=r"'m.txt' does not fit a sklearn model. Use the ending .skops"):
        save(model, tmp_path / "m.txt")
    with pytest.raises(FileFormatError, match="A function cannot be saved without pickle"):
        save(lambda rows: rows, tmp_path / "m.skops")


def test_weights_without_layers_and_hostile_layers(full_schema, tmp_path):
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    weights = {"0.weight": torch.zeros(1, 2)}
    plans = {
        "without the layers": None,
        "unknown layer 'exec'": {"layers": [{"kind": "exec"}], "dtype": "float32"},
        "is not as large as its weights": {
            "layers": [{"kind": "Linear", "in_features": 10**9, "out_features": 10**9}],
            "dtype": "float32",
        },
    }
    for message, plan in plans.items():
        path = tmp_path / "w.safetensors"
        save_file(weights, path, metadata=None if plan is None else {"wayforward": json.dumps(plan)})
        with pytest.raises(FileFormatError, match=message):
            load(path, full_schema)


def _said_by(code, *arguments):
    """What a Python process of its own prints."""
    asked = [sys.executable, "-c", code, *arguments]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout


def test_a_skops_file_is_read_without_the_import_of_torch(tmp_path):
    """torch takes seconds to import, and skops comes by it on its way through scikit-learn."""
    code = (
        "import sys, numpy as np\n"
        "from sklearn.linear_model import LogisticRegression\n"
        "from wayforward import Feature, Schema\n"
        "from wayforward.model import load, save\n"
        "schema = Schema((Feature(name='a', kind='real', low=0, high=1),))\n"
        "save(LogisticRegression().fit([[0.0], [1.0]], [0, 1]), sys.argv[1])\n"
        "model = load(sys.argv[1], schema)\n"
        "print(model.native(np.ones((1, 1)))[1][0], 'torch' in sys.modules, len(sys.meta_path))\n"
        "import importlib.util; importlib.util.find_spec('torch')\n"
    )
    said = _said_by(code, str(tmp_path / "m.skops"))
    assert said.split()[:2] == ["1", "False"]


def test_a_server_whose_threads_read_models_is_spared_torch():
    """Once a second thread runs, nothing can be kept out, so that it is imported before."""
    code = (
        "import sys, threading\n"
        "from wayforward.model import files\n"
        "files.before_threads()\n"
        "one = threading.Thread(target=files.before_threads)\n"
        "one.start(); one.join()\n"
        "print('skops.io' in sys.modules, 'torch' in sys.modules)\n"
    )
    assert _said_by(code).split() == ["True", "False"]


def test_a_command_reads_a_skops_file_without_a_look_through_all_of_scikit_learn(tmp_path):
    """What is loaded and what is refused stays the same, also of estimators that only scikit-learn's list names."""
    code = (
        "import sys, numpy as np\n"
        "from sklearn.linear_model import LogisticRegression\n"
        "from sklearn.multiclass import OneVsRestClassifier\n"
        "from sklearn.pipeline import make_pipeline\n"
        "from sklearn.preprocessing import FunctionTransformer, StandardScaler\n"
        "from wayforward import Feature, Schema\n"
        "from wayforward.errors import FileFormatError\n"
        "from wayforward.model import files, load, save\n"
        "schema = Schema((Feature(name='a', kind='real', low=0, high=1),))\n"
        "files.own_process()\n"
        "x, y = [[0.0], [1.0]], [0, 1]\n"
        "def own(z): return z\n"
        "plain = make_pipeline(StandardScaler(), LogisticRegression()).fit(x, y)\n"
        "listed = OneVsRestClassifier(LogisticRegression()).fit(x, y)\n"
        "strange = make_pipeline(FunctionTransformer(own), LogisticRegression()).fit(x, y)\n"
        "for model in (plain, listed, strange):\n"
        "    try:\n"
        "        got = load(save(model, sys.argv[1]), schema)\n"
        "        looked = 'sklearn.gaussian_process' in sys.modules\n"
        "        print(got.native(np.ones((1, 1)))[1][0], looked, 'torch' in sys.modules)\n"
        "    except FileFormatError as error:\n"
        "        print(error)\n"
    )
    said = _said_by(code, str(tmp_path / "m.skops"))
    first, second, third = said.splitlines()
    assert (first, second) == ("1 False False", "1 True False")
    assert "__main__.own" in third and "not on the list" in third
