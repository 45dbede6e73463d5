"""Model files that are not what `save` writes: one clear sentence each, and nothing of the file is run."""

import sys
from copy import deepcopy

import numpy as np
import pytest

import laminar
from _persistence.examples import CASES, NEW, fitted, stream
from _persistence.forge import at, contents, nodes, packed
from laminar._persistence.classes import OBJECTS, RECORDS
from laminar._persistence.decode import resolve
from laminar._persistence.errors import ModelFileError
from laminar._persistence.estimators import ATTRIBUTES, ESTIMATORS
from laminar._persistence.model_file import load, read_header, save_model

LAYER = ("state", "layers_", 0, "state")


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Text and arrays of a model file of NMF."""
    path = tmp_path_factory.mktemp("refusals") / "model.laminar"
    fitted("NMF").save(path)
    return contents(path)


def changed(parts, change):
    """The bytes of the file with a change, and a checksum that fits."""
    parts, arrays = deepcopy(parts)
    change(parts, arrays)
    return packed(parts, arrays)


def put(*path, value):
    """A change of the JSON at a place."""

    def change(parts, arrays):
        at(parts, path[:-1])[path[-1]] = value

    return change


def array(name, make):
    """A change of one array."""

    def change(parts, arrays):
        arrays[name] = make(arrays[name])

    return change


def both(*changes):
    def change(parts, arrays):
        for each in changes:
            each(parts, arrays)

    return change


def without(*path):
    def change(parts, arrays):
        del at(parts, path[:-1])[path[-1]]

    return change


def with_nan(A):
    A = A.copy()
    A.flat[1] = np.nan
    return A


CODES = "layers_.0.representation"
REFUSED = {
    "another format": (put("format", value="other"), "is a safetensors file of another program"),
    "newer format": (
        both(put("format_version", value="7"), put("laminar_version", value="3.2")),
        r"was written by Laminar 3\.2 in version 7 of the format.*reads up to version 1: upgrade Laminar",
    ),
    "no version": (without("format_version"), "is damaged: it has no version of the format"),
    "strange version": (put("format_version", value="one"), "is damaged: it has no version of the format"),
    "unknown class": (
        put("class", value="laminar.nmf.nmf.NMF2"),
        "'laminar.nmf.nmf.NMF2' is not one that a model file",
    ),
    "function of the system": (put("class", value="os.system"), "'os.system' is not one that a model file may hold"),
    "builtin": (put("class", value="builtins.eval"), "'builtins.eval' is not one that a model file may hold"),
    "dots": (put("class", value="laminar..nmf"), "is not one that a model file may hold"),
    "path": (put("class", value="../nmf.NMF"), "is not one that a model file may hold"),
    "class of state": (put("class", value="laminar._base.coding.Layer"), "is not one that a model file may hold"),
    "object of the system": (
        put("state", "layers_", 0, "class", value="subprocess.Popen"),
        "'subprocess.Popen' is not one that a model file may hold",
    ),
    "estimator as object": (
        put("state", "layers_", 0, "class", value="laminar.nmf.nmf.NMF"),
        "is not one that a model",
    ),
    "class in a list": (put("class", value=["laminar.nmf.nmf.NMF"]), "is not one that a model file may hold"),
    "unknown kind": (put("state", "layers_", 0, "kind", value="code"), "kind 'code' is unknown"),
    "no kind": (without("state", "layers_", 0, "kind"), "kind 'None' is unknown"),
    "more in a node": (put("state", "layers_", 0, "more", value=1), "kind 'object' has"),
    "no parameters": (without("parameters"), "KeyError 'parameters'"),
    "no state": (without("state"), "KeyError 'state'"),
    "no class": (without("class"), "KeyError 'class'"),
    "parameters in a list": (put("parameters", value=[]), "a part is no map"),
    "unknown parameter": (put("parameters", "n_parts", value=3), "NMF has no parameter 'n_parts'"),
    "wrong parameter": (put("parameters", "n_components", value=-2), "'n_components' parameter of NMF must be an int"),
    "parameter of another type": (put("parameters", "tol", value="small"), "'tol' parameter of NMF must be a float"),
    "unknown attribute": (put("state", "fit", value=3), "the state of NMF has 'fit', which is unknown"),
    "private attribute": (put("state", "__class__", value=3), "the state of NMF has '__class__', which is unknown"),
    "attribute of a layer": (put(*LAYER, "__dict__", value=3), "the state of Layer has '__dict__', which is unknown"),
    "no components": (without("state", "components_"), "the state of NMF lacks 'components_'"),
    "no weights": (without(*LAYER, "weights"), "the state of Layer lacks 'weights'"),
    "text for components": (put("state", "components_", value="x"), "components_ of NMF is not a matrix of finite"),
    "NaN in components": (array("components_", with_nan), "components_ of NMF is not a matrix of finite|not a matrix"),
    "infinite codes": (array(CODES, lambda A: A + np.inf), "is not a matrix of finite numbers"),
    "integers for components": (
        array("components_", lambda A: A.astype(np.int32)),
        "is not a matrix of finite numbers",
    ),
    "components in a vector": (array("components_", lambda A: A.ravel()), "is not a matrix of finite numbers"),
    "other features": (array("components_", lambda A: A[:, :4]), "has not a column for each feature"),
    "fewer components": (array("components_", lambda A: A[:2]), "different numbers of components"),
    "fewer codes": (array(CODES, lambda A: A[:, :2]), "different numbers of components"),
    "number of features": (put("state", "n_features_in_", value=7), "components_ has not a column for each feature"),
    "no features": (put("state", "n_features_in_", value=0), "n_features_in_ of NMF is not a whole number of 1"),
    "no layer": (
        both(put("state", "layers_", value=[]), without("state", "clusters_"), lambda p, a: a.pop(CODES)),
        "lacks 'clusters_'|there is no layer",
    ),
    "missing array": (lambda parts, arrays: arrays.pop(CODES), f"the array {CODES!r} is missing"),
    "unused array": (lambda parts, arrays: arrays.update(more=np.zeros(2)), "the array 'more' belongs to nothing"),
    "order": (put("state", "components_", "order", value="K"), "the order 'K' is unknown"),
    "data of another class": (
        put("data", value={"kind": "object", "class": "laminar.graphs.specs.Chain", "state": {}}),
        "the description of the data is not valid",
    ),
    "run in a list": (put("run", value=[]), "the record of the run is not valid"),
    "deep": (put("state", value="[" * 5000), "nested 5000 deep"),
    "key twice": (put("parameters", value='{"tol": 1, "tol": 2}'), "the key 'tol' is there twice"),
    "generator of the system": (
        put("parameters", "random_state", value={"kind": "generator", "state": {"bit_generator": "seed"}}),
        "kind 'None' is unknown|not valid",
    ),
    "strange scalar": (
        put("parameters", "tol", value={"kind": "scalar", "dtype": "object", "value": 1}),
        "a number of type 'object' is unknown",
    ),
    "wide text": (
        put("parameters", "tol", value={"kind": "text", "shape": [2], "width": 10**9, "items": ["a", "b"]}),
        "room for 1000000000 characters an entry, which none needs",
    ),
    "strange number": (
        put("parameters", "tol", value={"kind": "float", "value": "__import__('os')"}),
        "KeyError",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_forged_file_is_refused(case, parts, tmp_path):
    change, message = REFUSED[case]
    path = tmp_path / "model.laminar"
    path.write_bytes(changed(parts, change))
    with pytest.raises(ModelFileError, match=f"^{path} .*({message})") as caught:
        load(path)
    assert "\n" not in str(caught.value)


def test_forged_file_imports_nothing(parts, tmp_path):
    path = tmp_path / "model.laminar"
    path.write_bytes(changed(parts, put("class", value="antigravity.fly")))
    with pytest.raises(ModelFileError):
        load(path)
    assert "antigravity" not in sys.modules


@pytest.mark.parametrize("case", ["wide text", "deep", "number of features", "unused array"])
def test_forged_file_needs_little_memory(case, parts, tmp_path):
    import tracemalloc

    path = tmp_path / "model.laminar"
    path.write_bytes(changed(parts, REFUSED[case][0]))
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError):
            load(path)
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


def test_unchanged_parts_are_accepted(parts, tmp_path):
    path = tmp_path / "model.laminar"
    path.write_bytes(changed(parts, lambda parts, arrays: None))
    assert np.array_equal(load(path).transform(NEW), fitted("NMF").transform(NEW))


def test_changed_contents_are_damaged(parts, tmp_path):
    path = tmp_path / "model.laminar"
    path.write_bytes(packed({**parts[0], "class": "laminar.nmf.semi.SemiNMF"}, parts[1], right_checksum=False))
    with pytest.raises(ModelFileError, match="is damaged: its checksum is not that of its contents"):
        load(path)


def test_parameter_that_is_absent_has_its_default(parts, tmp_path):
    path = tmp_path / "model.laminar"
    path.write_bytes(changed(parts, without("parameters", "max_iter")))
    assert load(path).max_iter == laminar.NMF().max_iter


# --------------------------------------------------------------------------------------------- the allow-list


@pytest.fixture(scope="module")
def saved_parts(tmp_path_factory):
    """Text of the files of all examples."""
    path = tmp_path_factory.mktemp("all") / "model.laminar"
    found = []
    for name in [*CASES, "stream linear", "stream stanh"]:
        save_model(example(name), path)
        found.append(contents(path)[0])
    return found


def test_every_class_of_the_table_is_used(saved_parts):
    used = set()
    for parts in saved_parts:
        for part in (parts["parameters"], parts["state"]):
            used |= {at(part, path) for path in nodes(part) if path[-1] == "class"}
    assert set(OBJECTS) - used == set()


def test_every_attribute_of_an_estimator_is_used(saved_parts):
    common = {"feature_names_in_", "_sklearn_output_config"}  # of tables and by set_output, in any estimator
    for name, attributes in ESTIMATORS.items():
        used = {key for parts in saved_parts if parts["class"] == name for key in parts["state"]}
        assert {attribute.rstrip("?") for attribute in attributes} - common - used == set(), name


def example(name):
    if name.startswith("stream"):
        return stream(activation=None if name.endswith("linear") else "stanh")
    model = fitted(name)
    if hasattr(model, "clusters_"):
        model.predict(CASES[name][2])
    return model


def test_every_name_of_the_table_is_a_class():
    assert all(isinstance(resolve(name), type) for name in [*ESTIMATORS, *OBJECTS])
    for name in RECORDS:
        assert isinstance(resolve(name), type)


def test_every_attribute_of_the_table_is_used():
    named = {attribute.rstrip("?") for attributes in ESTIMATORS.values() for attribute in attributes}
    assert set(ATTRIBUTES) == named


# ---------------------------------------------------------------------------------------------- facts of files


def test_header_has_the_facts(tmp_path):
    path = tmp_path / "model.laminar"
    save_model(fitted("GNMF sum"), path, run={"seconds": 2.5}, training_codes=False)
    found = read_header(path)
    assert (found.is_model, found.class_name, found.version) == (True, "laminar.nmf.gnmf.GNMF", laminar.__version__)
    assert (found.format_version, found.has_training_codes, found.checksum_ok) == (1, False, True)
    assert found.run == {"seconds": 2.5}
    assert found.parameters["n_components"] == 3
    assert found.parameters["graph"].startswith("Sum(terms=((1.0, KNN(n_neighbors=3, weight='binary'")
    assert found.tensors["components_"] == ("F64", (3, 6))


def test_header_shows_damage(tmp_path):
    path = tmp_path / "model.laminar"
    fitted("NMF").save(path)
    data = bytearray(path.read_bytes())
    data[-3] ^= 4
    path.write_bytes(data)
    assert read_header(path).checksum_ok is False


def test_header_of_a_newer_version_is_read(parts, tmp_path):
    path = tmp_path / "model.laminar"
    path.write_bytes(changed(parts, both(put("format_version", value="9"), put("parameters", value="[[["))))
    found = read_header(path)
    assert (found.format_version, found.parameters, found.checksum_ok) == (9, {}, True)


def test_file_of_another_program_is_described(tmp_path):
    from safetensors.numpy import save_file

    save_file({"bert.weight": np.zeros((2, 3), np.float32)}, tmp_path / "bert.safetensors", {"author": "x"})
    found = read_header(tmp_path / "bert.safetensors")
    assert (found.is_model, found.metadata, found.checksum_ok) == (False, {"author": "x"}, None)
    assert found.tensors == {"bert.weight": ("F32", (2, 3))}
    with pytest.raises(ModelFileError, match="is a safetensors file of another program, not a model file of Laminar"):
        load(tmp_path / "bert.safetensors")
