"""What a node of a cluster sends of a case's folder."""

from __future__ import annotations

import os

import pytest

from assay.core.archives import unpack
from assay.core.executor import CaseDir


@pytest.mark.real("ray")
def test_a_node_sends_files_and_no_links_or_pipes(tmp_path):
    from assay.platforms.cluster import _node

    folder = tmp_path / "node" / "001"
    folder.mkdir(parents=True)
    (folder / "worker.log").write_text("log")
    os.link(folder / "worker.log", folder / "worker-again.log")
    (folder / "latest").symlink_to(folder / "worker.log")
    os.mkfifo(folder / "pipe")
    (tmp_path / "sent.tar.gz").write_bytes(_node._pack([CaseDir("run/001", folder)]))

    unpack(tmp_path / "sent.tar.gz", tmp_path / "driver")

    assert sorted(os.listdir(tmp_path / "driver" / "001")) == ["worker-again.log", "worker.log"]
    assert (tmp_path / "driver" / "001" / "worker-again.log").read_text() == "log"
