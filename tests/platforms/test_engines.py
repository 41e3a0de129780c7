"""Container engines by lists of words; buildah itself, on a base that needs no registry."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import assay
from assay.core.errors import AssayError, NotPossibleError, UsageError
from assay.platforms.images import engines
from assay.platforms.images.engines import ContainerRun, Mount

ROOT = Path(__file__).parent.parent.parent
RUN = ContainerRun(
    image="a/b:1",
    command=("assay", "run", "x; id"),
    mounts=(Mount(source="/d", target="/data", writable=False),),
    variables={"A": "1 2"},
    gpus=True,
)
SUITES = {11: "bookworm", 13: "trixie"}  # minor version of Python → the Debian that has it
PACKAGES = "busybox-static,python3-minimal,libpython3-stdlib,python3-venv,libstdc++6"


@pytest.mark.parametrize(
    "engine, uid, user, gpu",
    [
        ("docker", 1001, ["--user", "1001:1001"], ["--gpus", "all"]),
        ("docker", 0, ["--user", "0:0"], ["--gpus", "all"]),
        ("podman", 1001, ["--userns", "keep-id"], ["--device", "nvidia.com/gpu=all"]),
    ],
)
def test_words_of_a_run(engine, uid, user, gpu, monkeypatch):
    monkeypatch.setattr("os.getuid", lambda: uid)
    monkeypatch.setattr("os.getgid", lambda: uid)

    assert engines.run_words(engine, RUN) == [
        *(engine, "run", "--rm", *user, "-v", "/d:/data:ro", "-e", "A=1 2", *gpu),
        *("a/b:1", "assay", "run", "x; id"),
    ]


@pytest.mark.parametrize(
    "answer, pinned",
    [
        ("python@sha256:" + "a" * 64, "python:3.11-slim@sha256:" + "a" * 64),
        ("none", "python:3.11-slim"),
    ],
)
def test_a_base_is_pinned_by_the_digest_of_its_registry(answer, pinned, tmp_path, monkeypatch):
    program = tmp_path / "docker"
    program.write_text(f'#!/bin/sh\n[ "$1" = pull ] || echo {answer}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")

    assert engines.pin("docker", "python:3.11-slim") == pinned
    assert engines.pin("docker", pinned + "@x") == pinned + "@x"
    assert engines.pin("docker", "localhost/mine") == "localhost/mine"


def test_a_base_without_a_registry_is_used_as_it_is(tmp_path, monkeypatch):
    program = tmp_path / "podman"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")

    assert engines.pin("podman", "python:3.11-slim") == "python:3.11-slim"


def test_words_of_a_build():
    assert engines.build_words("podman", "t", Path("/f"), ["A=b c"]) == [
        *("podman", "build", "-f", "/f/Containerfile", "-t", "t", "--label", "org.assay.image=1"),
        *("--build-arg", "A=b c", "/f"),
    ]


def test_no_engine_and_an_unknown_one_are_said(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(NotPossibleError, match="No container engine is installed here"):
        engines.find()
    with pytest.raises(NotPossibleError, match="podman is not installed here"):
        engines.find("podman")
    with pytest.raises(UsageError, match="no container engine named 'dokcer'"):
        engines.find("dokcer")


@pytest.mark.parametrize(
    "text", ["data", "data:here", "/tmp/no such folder:/data", "/tmp:/d:wx", "/tmp:/d,x"]
)
def test_what_is_no_mount_is_refused(text):
    with pytest.raises(UsageError):
        engines.parse_mount(text)


@pytest.mark.parametrize("tag", ["", "-v", "a b", "UPPER/x;id", "$(id)"])
def test_what_is_no_name_of_an_image_is_refused(tag):
    with pytest.raises(UsageError, match="is not a name of an image"):
        engines.check_tag(tag)


@pytest.fixture
def base(tmp_path, monkeypatch):
    """Debian's Python in an image, without a registry; images lie in a folder of the test."""
    settings = tmp_path / "storage.conf"
    places = f'graphroot = "{tmp_path}/graph"\nrunroot = "{tmp_path}/run"'
    settings.write_text(f'[storage]\ndriver = "vfs"\n{places}\n')
    monkeypatch.setenv("CONTAINERS_STORAGE_CONF", str(settings))
    context = tmp_path / "base"
    context.mkdir()
    made = ["mmdebstrap", "--quiet", "--variant=extract", f"--include={PACKAGES}"]
    subprocess.run([*made, SUITES[sys.version_info[1]], context / "base.tar"], check=True)
    link = '["/bin/busybox", "--install", "-s", "/bin"]'
    text = f"FROM scratch\nADD base.tar /\nRUN {link}\n"
    (context / "Containerfile").write_text(text)
    engines.ask(engines.build_words("buildah", "localhost/base", context))
    return "localhost/base"


@pytest.mark.skipif(
    sys.version_info[1] not in SUITES, reason="not applicable: no Debian has this Python"
)
@pytest.mark.real("buildah", "mmdebstrap")
def test_an_image_is_built_and_measured_in_and_its_digest_is_in_the_result(base, tmp_path, home):
    request = assay.ImageRequest(base=base, assay="", bare=True)
    first = assay.build_image(request, "localhost/measured", "buildah", tmp_path / "files")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "assay").write_text('#!/bin/sh\nexec python3 -m assay "$@"\n')
    (inside / "assay").chmod(0o755)
    (inside / "Containerfile").write_text(
        "FROM localhost/measured\nCOPY assay /usr/bin/assay\nENV PYTHONPATH=/src:/packages\n"
    )
    engines.ask(engines.build_words("buildah", "localhost/with-assay", inside))
    (tmp_path / "work.py").write_text("def work():\n    return lambda: sum(range(100))\n")
    packages = next(Path(sys.prefix).glob("lib/python3.*/site-packages"))

    left = assay.run_image(
        "localhost/with-assay",
        ["assay", "run", "/here/work.py:work@python", "--samples", "3"],
        mounts=[f"{ROOT}:/src:ro", f"{packages}:/packages:ro", f"{tmp_path}:/here:ro"],
        engine="buildah",
        store=home,
    )

    (reading,) = assay.read_results(store=home)
    digest = engines.digest("buildah", "localhost/with-assay")
    assert left == 0
    assert reading.result.status == "ok"
    assert reading.result.environment.system["image"] == digest != first
    assert {name for name, _, _ in assay.images("buildah")} >= {"localhost/measured:latest"}
    with pytest.raises(AssayError, match="buildah build failed"):
        assay.build_image(assay.ImageRequest(base="localhost/none"), "x", "buildah")
