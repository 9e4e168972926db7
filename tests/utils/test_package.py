"""``torch.package``: what is packed, what is refused, and what loads again."""

import subprocess
import sys
import textwrap
import zipfile

import pytest

import pellucid as torch
from pellucid import package
from pellucid.package import PackageExporter, PackageImporter, PackagingError

FILES = {
    "__init__.py": "from . import helper\nfrom .sub.deep import Deep\n",
    "helper.py": "import math\ndef twice(x):\n    return x * 2 + math.pi * 0\n",
    "sub/__init__.py": "",
    "sub/deep.py": """
        from torch import nn
        from ..helper import twice

        class Deep(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(3, 2)
                self.tied = self.layer.weight

            def forward(self, x):
                return twice(self.layer(x))

            class Inner:
                pass
        """,
}


@pytest.fixture
def library(tmp_path, monkeypatch):
    """The module ``packed_library``, importable during the test."""
    for name, text in FILES.items():
        path = tmp_path / "packed_library" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, module in (("torch", torch), ("torch.nn", torch.nn)):
        monkeypatch.setitem(sys.modules, name, module)
    import packed_library

    yield packed_library
    for name in [n for n in sys.modules if n.partition(".")[0] == "packed_library"]:
        del sys.modules[name]


def written(path, model, prepare):
    with PackageExporter(path) as exporter:
        prepare(exporter)
        exporter.save_pickle("model", "model.pkl", model)
        exporter.save_text("notes", "a.txt", "ä")
    return path


def test_a_model_loads_from_its_package_alone(tmp_path, library):
    model = library.Deep()
    path = written(tmp_path / "a.pt", model, lambda e: e.intern("packed_library.**"))
    importer = PackageImporter(path)
    loaded = importer.load_pickle("model", "model.pkl")
    x = torch.ones(1, 3)
    assert torch.equal(loaded(x), model(x))
    assert loaded.tied is loaded.layer.weight
    assert type(loaded) is not type(model)
    assert package.is_from_package(loaded) and not package.is_from_package(model)
    assert importer.load_text("notes", "a.txt") == "ä"
    program = f"""
        from pellucid import ones, package
        importer = package.PackageImporter({str(path)!r})
        print(importer.load_pickle("model", "model.pkl")(ones(1, 3)).tolist())
        """
    code = textwrap.dedent(program)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == str(model(x).tolist()), done.stderr


def test_what_no_pattern_matches_or_one_denies_is_refused_with_its_users(
    tmp_path, library
):
    with pytest.raises(
        PackagingError, match=r"(?s)no pattern.*packed_library.sub.deep"
    ):
        written(tmp_path / "a.pt", library.Deep(), lambda e: None)

    def deny(exporter):
        exporter.deny("packed_library.helper")
        exporter.intern("packed_library.**")

    with pytest.raises(PackagingError, match=r"denies.*\n.*helper\n.*needed by"):
        written(tmp_path / "b.pt", library.Deep(), deny)


def test_a_mocked_module_is_importable_and_raises_when_used(tmp_path, library):
    def prepare(exporter):
        exporter.mock("packed_library.helper")
        exporter.intern("packed_library.**")

    path = written(tmp_path / "a.pt", library.Deep(), prepare)
    loaded = PackageImporter(path).load_pickle("model", "model.pkl")
    with pytest.raises(NotImplementedError, match="twice was mocked out"):
        loaded(torch.ones(1, 3))


def test_objects_of_mocked_modules_and_unmatched_patterns_are_refused(
    tmp_path, library
):
    with pytest.raises(PackagingError, match="mocked, but an object"):
        written(
            tmp_path / "a.pt", library.Deep(), lambda e: e.mock("packed_library.**")
        )

    def unmatched(exporter):
        exporter.intern("packed_library.**")
        exporter.extern("absent", allow_empty=False)

    with pytest.raises(package.EmptyMatchError):
        written(tmp_path / "b.pt", library.Deep(), unmatched)


def test_a_package_packs_again_from_its_importer(tmp_path, library):
    prepare = lambda e: e.intern("packed_library.**")  # noqa: E731
    path = written(tmp_path / "a.pt", library.Deep(), prepare)
    importer = PackageImporter(path)
    loaded = importer.load_pickle("model", "model.pkl")
    with pytest.raises(package.ObjMismatchError, match="importer"):
        written(tmp_path / "b.pt", loaded, prepare)
    with PackageExporter(tmp_path / "c.pt", (importer, package.sys_importer)) as again:
        prepare(again)
        again.save_pickle("model", "model.pkl", [loaded, type(loaded).Inner])
        assert "packed_library.sub.deep" in again.interned_modules()
        assert "<model.model.pkl>" in again.get_rdeps("packed_library.sub.deep")
    twice, inner = PackageImporter(tmp_path / "c.pt").load_pickle("model", "model.pkl")
    assert torch.equal(twice(torch.ones(1, 3)), loaded(torch.ones(1, 3)))
    assert inner.__qualname__ == "Deep.Inner"


def test_modules_that_are_not_packed_need_leave(tmp_path):
    with PackageExporter(tmp_path / "a.pt") as exporter:
        exporter.extern("numpy.**")
        exporter.save_source_string("uses", "import numpy\nimport torch\n")
        exporter.save_source_string("broken", "import nowhere", dependencies=False)
        assert exporter.externed_modules() == ["numpy", "torch"]
    importer = PackageImporter(tmp_path / "a.pt")
    assert importer.import_module("uses").torch is torch
    with pytest.raises(ModuleNotFoundError, match="neither interned nor externed"):
        importer.import_module("broken")
    with pytest.raises(ImportError, match="does not allow"):
        PackageImporter(tmp_path / "a.pt", lambda name: name != "numpy")


def test_the_archive_is_laid_out_as_pytorch_lays_it_out(tmp_path):
    with PackageExporter(tmp_path / "a.pt") as exporter:
        exporter.save_pickle("m", "t.pkl", torch.arange(3))
    with zipfile.ZipFile(tmp_path / "a.pt") as archive:
        names = archive.namelist()
        assert archive.read("a/.data/0.storage") == bytes(
            torch.arange(3).view(torch.uint8).tolist()
        )
    assert {"a/m/t.pkl", "a/.data/extern_modules", "a/.data/version"} <= {*names}
    importer = PackageImporter(tmp_path / "a.pt")
    assert "└── t.pkl" in str(importer.file_structure(include="m/*"))
    assert importer.file_structure().has_file("m/t.pkl")


def test_patterns():
    def matches(pattern, name):
        return package.GlobGroup(pattern).matches(name)

    assert matches("torch.**", "torch") and matches("torch.**", "torch.nn.functional")
    assert matches("torch.*", "torch.nn") and not matches("torch.*", "torch.nn.init")
    assert matches("**.nn", "a.b.nn") and not matches("a", "ab")
    group = package.GlobGroup(["a.**", "b"], exclude="a.secret.**")
    assert group.matches("a.open") and not group.matches("a.secret.x")
    with pytest.raises(ValueError, match="whole name"):
        package.GlobGroup("a**")


def test_a_parent_that_nothing_names_is_left_out(tmp_path, library):
    with PackageExporter(tmp_path / "a.pt") as exporter:
        exporter.intern("packed_library.**")
        exporter.save_module("packed_library.helper")
        assert exporter.interned_modules() == ["packed_library.helper"]
    importer = PackageImporter(tmp_path / "a.pt")
    assert importer.import_module("packed_library.helper").twice(2) == 4


@pytest.mark.parametrize("action", ["intern", "extern", "mock"])
def test_hooks_see_modules_until_they_are_removed(tmp_path, library, action):
    seen = []
    with PackageExporter(tmp_path / "a.pt") as exporter:
        getattr(exporter, action)("packed_library.**")
        register = getattr(exporter, f"register_{action}_hook")
        register(lambda exporter, name: seen.append(name))
        register(lambda exporter, name: seen.append("removed")).remove()
        exporter.add_dependency("packed_library.helper")
    assert "packed_library.helper" in seen
    assert "removed" not in seen
