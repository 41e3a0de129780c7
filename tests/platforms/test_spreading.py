"""Who is measured where, and what is done about what is lost; by a cluster without processes."""

from __future__ import annotations

import io
import tarfile
from typing import NamedTuple

import pytest

import assay
from assay.core.errors import NotPossibleError, UsageError
from assay.core.executor import CaseDir, NodeLost, RemoteTask
from assay.core.progress import Progress, ignore
from assay.core.records import Case
from assay.measure.remote import executor
from assay.platforms.cluster import scheduler
from assay.platforms.cluster.address import address_of, check_where
from assay.platforms.cluster.resources import (
    ClusterNode,
    Needs,
    check_needs,
    find_slots,
    parse_needs,
)
from assay.platforms.cluster.scheduler import RayCluster

CASE = Case(workload="w", backend="b", key="w@b")


class Gave(NamedTuple):
    value: object
    files: bytes


class FakeLink:
    """Each unit gives its first argument and a file; a node named `bad…` is lost at once."""

    def __init__(self, *names: str, gpus: int = 0, versions: dict[str, str] | None = None) -> None:
        self.names, self.gpus, self._other = list(names), gpus, versions or {}
        self.started: list[tuple[str, int]] = []
        self._units: list[RemoteTask] = []
        self.most = 0

    def nodes(self):
        has = {"CPU": 8.0, **({"GPU": float(self.gpus)} if self.gpus else {})}
        return [
            {"NodeID": n, "Alive": True, "NodeManagerHostname": n, "Resources": has}
            for n in self.names
        ]

    def versions(self, nodes):
        return {node: self._other.get(node, assay.__version__) for node in nodes}

    def start(self, seat, number, unit):
        self.started.append((seat.node.id, number))
        self._units.append(unit)
        return len(self.started) - 1

    def wait(self, running, seconds):
        self.most = max(self.most, len(running))
        return list(running)[:1]

    def outcome(self, ref):
        node, unit = self.started[ref][0], self._units[ref]
        return "NodeDiedError" if node.startswith("bad") else Gave(unit.args[0], packed(unit))

    def progress(self):
        return {}

    def cancel(self, ref):
        pass


def packed(unit) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        member = tarfile.TarInfo(f"{unit.case_dirs[0].folder.name}/worker.log")
        member.size = 3
        tar.addfile(member, io.BytesIO(b"log"))
    return file.getvalue()


def units(folder, count, progress=ignore):
    for number in range(1, count + 1):
        place = CaseDir(f"run/{number:03d}", folder / "run" / f"{number:03d}")
        place.folder.mkdir(parents=True)
        yield RemoteTask(print, (number,), CASE, (place,), progress)


def test_one_case_per_node_at_a_time_and_its_files_come_along(tmp_path):
    link = FakeLink("a", "b")

    given = sorted(value for _, value in RayCluster(link, Needs()).submit(units(tmp_path, 5)))

    assert given == [1, 2, 3, 4, 5]
    assert link.most == 2
    assert (tmp_path / "run" / "005" / "worker.log").read_bytes() == b"log"


def test_a_node_with_several_gpus_has_several_cases(tmp_path):
    link = FakeLink("a", gpus=4)

    assert len(list(RayCluster(link, Needs(gpus=1)).submit(units(tmp_path, 6)))) == 6
    assert link.most == 4


def test_what_is_lost_is_tried_elsewhere_and_given_up_after_the_third_time(tmp_path, monkeypatch):
    link = FakeLink("bad", "good")
    both = [value for _, value in RayCluster(link, Needs()).submit(units(tmp_path / "2", 2))]
    assert sorted(both) == [1, 2]
    assert link.started.count(("bad", 1)) == 1

    monkeypatch.setattr(scheduler, "AVOID_SECONDS", 0.0)
    (found,) = RayCluster(FakeLink("bad"), Needs()).submit(units(tmp_path / "1", 1))
    assert isinstance(found[1], NodeLost)
    assert "lost 3 times, last on bad (NodeDiedError)" in found[1].reason


def test_without_a_node_it_ends_after_a_while(tmp_path, monkeypatch):
    monkeypatch.setattr(scheduler, "NODE_TIMEOUT", 0.0)
    link = FakeLink("a")
    cluster = RayCluster(link, Needs())
    link.names.clear()

    with pytest.raises(NotPossibleError, match="No node of the cluster could be used"):
        list(cluster.submit(units(tmp_path, 1)))


def test_a_node_with_another_assay_is_left_out_and_said(tmp_path):
    link = FakeLink("a", "b", versions={"b": "0.0.1"})
    said: list[Progress] = []

    list(RayCluster(link, Needs()).submit(units(tmp_path, 3, said.append)))

    assert {node for node, _ in link.started} == {"a"}
    assert [one.note for one in said] == [
        f"b is not used: it has assay 0.0.1, and this is {assay.__version__}"
    ]
    with pytest.raises(NotPossibleError, match=r"No node of the cluster has assay .* \(b: none\)"):
        RayCluster(FakeLink("b", versions={"b": ""}), Needs())


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("ray", "auto"),
        ("ray://h", "ray://h:10001"),
        ("ray://h:9", "ray://h:9"),
        ("10.0.0.1:6379", "10.0.0.1:6379"),
        ("ray://[::1]:5", "ray://[::1]:5"),
    ],
)
def test_addresses(text, address):
    assert address_of(text) == address


@pytest.mark.parametrize("text", ["http://h:1", "host", "ray:/h", "ray://h:99999", "ray://", "a b"])
def test_what_is_no_address_is_said(text):
    with pytest.raises(UsageError, match="not an address of a Ray cluster"):
        check_where(text, {})


def test_needs_are_read_and_checked():
    node = ClusterNode("1", "big", 8, 2, ("H100",))

    assert parse_needs({"gpus": "2", "accelerator": "H100"}) == Needs(gpus=2, accelerator="H100")
    assert [seat.cpus for seat in find_slots([node], Needs(gpus=1))] == [4, 4]
    assert [(seat.cpus, seat.gpus) for seat in find_slots([node], Needs())] == [(8, 2)]
    with pytest.raises(NotPossibleError, match=r"has 1 CPU and an accel.* A100") as caught:
        check_needs([node], Needs(accelerator="A100"))
    assert caught.value.hint == "Nodes: big (8 CPUs, 2 GPUs H100)."
    with pytest.raises(UsageError, match="no resource of a node named 'gpu'"):
        parse_needs({"gpu": "1"})
    with pytest.raises(UsageError, match="but takes a number"):
        parse_needs({"gpus": "one"})
    with pytest.raises(UsageError, match="without --on"):
        executor("", {"gpus": "1"})


@pytest.mark.real("ray")
def test_a_cluster_that_is_not_there_is_said(assay, endings):
    status, _, err = assay("run", f"{endings}:fine@python", "--on", "ray://127.0.0.1:1")

    assert status == 3
    assert "There is no Ray cluster at ray://127.0.0.1:1 (Connection refused)" in err
