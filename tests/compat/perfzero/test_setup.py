"""PerfZero's setup.py: its flags in words that an engine gets."""

from __future__ import annotations

import pytest

from assay.compat.perfzero import setup
from assay.core.errors import UsageError


def said(**given) -> str:
    lines: list[str] = []
    setup.set_up(setup.SetupRequest(**given), "", True, lines.append)
    return "\n".join(lines)


def test_packages_are_several_where_perfzero_made_one_word_of_them():
    given = setup.SetupRequest(tensorflow_pip_spec="tf-nightly", extra_pip_specs="a==1;b==2")

    assert setup.specs(given) == ("tf-nightly", "a==1", "b==2")


def test_the_template_a_dockerfile_an_archive_and_nothing(tmp_path):
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")

    assert "FROM python:" in said(tensorflow_pip_spec="tensorflow==2.21.0")
    built = said(
        dockerfile_path=str(tmp_path / "Dockerfile"),
        tensorflow_pip_spec="tf-nightly",
        extra_docker_build_args=("A=b",),
    )
    assert "--build-arg tensorflow_pip_spec=tf-nightly" in built and "--build-arg A=b" in built
    assert "docker load -i" in said(dockerfile_path="gs://bucket/image.tar.gz")
    assert said(dockerfile_path="") == ""


def test_folders_take_the_place_of_older_copies_in_site_packages(tmp_path):
    source, there = tmp_path / "models", tmp_path / "w" / "site-packages" / "official"
    (source / "vision").mkdir(parents=True)
    (source / "vision" / "net.py").write_text("LAYERS = 3\n")
    there.mkdir(parents=True)
    (there / "old.py").touch()
    given = {"workspace": str(tmp_path / "w"), "site_package_downloads": f"{source}:official"}

    assert f"{source} is copied to {there}" in said(dockerfile_path="", **given)
    assert (there / "old.py").exists()  # that was a dry run
    setup.set_up(setup.SetupRequest(dockerfile_path="", **given), "", False, print)
    assert [str(path.relative_to(there)) for path in sorted(there.rglob("*"))] == [
        "vision",
        "vision/net.py",
    ]


def test_one_disk_is_used_as_it_is_and_several_as_one():
    one = setup.drive_commands(["/dev/nvme0n1"], "/data")
    two = setup.drive_commands(["/dev/nvme0n1", "/dev/nvme0n2"], "/data")

    assert one[0] == ["mkfs.ext4", "-F", "/dev/nvme0n1"]
    assert two[0][:3] == ["mdadm", "--create", "/dev/md0"]
    assert two[0][-2:] == ["/dev/nvme0n1", "/dev/nvme0n2"]


@pytest.mark.parametrize(
    "given, kind, sentence",
    [
        ({"dockerfile_path": "docker/none"}, UsageError, "There is no Dockerfile"),
        ({"docker_tag": "a b"}, UsageError, "is not a name of an image"),
        ({"extra_docker_build_args": ("--x",)}, UsageError, "got '--x'"),
        ({"site_package_downloads": "/none:b"}, UsageError, "got '/none:b'"),
        ({"site_package_downloads": "/tmp:../b"}, UsageError, "site_package_downloads"),
        ({"site_package_downloads": "/tmp"}, UsageError, "site_package_downloads"),
        ({"tensorflow_pip_spec": "x; id"}, UsageError, "is not a package"),
        ({"gcloud_key_file_url": "/dev/null"}, UsageError, "not a key of a service account"),
    ],
)
def test_wrong_flags_are_refused(given, kind, sentence):
    with pytest.raises(kind, match=sentence):
        said(**given)
