"""Configuration files by functions: held against a model, and sorted."""

from __future__ import annotations

import pytest

import assay
from assay.commands.configs import network
from assay.core.errors import UsageError
from assay.native.hpvm.config_sets import baseline
from assay.native.hpvm.configs import ConfigFile
from tests.native.hpvm.making import residual_net


def test_a_file_fits_the_graph_it_was_made_for(tmp_path):
    graph = residual_net()
    made = ConfigFile(configurations=(baseline(network(graph), device="cpu"),))
    assay.write_configs(made, tmp_path / "confs.txt")

    found = assay.check_configs(tmp_path / "confs.txt", graph)

    assert (found.network, found.remarks) == ("made", ())
    assert found.configs.configurations[0].exact


def test_a_file_of_another_network_is_refused(tmp_path):
    (tmp_path / "confs.txt").write_text("0\n+++++\nconf1 1 1 100 0\n1 cpu relu fp32 1\n-----\n")

    with pytest.raises(UsageError, match="line 4: line 1 of made is 'conv add tanh', not 'relu'"):
        assay.check_configs(tmp_path / "confs.txt", residual_net())


def test_the_front_is_written_and_given_back(tmp_path):
    (tmp_path / "confs.txt").write_text("0\n+++++\nconf1 1 1 100 0\n1 cpu relu fp32 1\n-----\n")

    found = assay.sort_configs(tmp_path / "confs.txt", tmp_path / "front.txt")

    assert assay.read_configs(tmp_path / "front.txt").configurations == found.configurations
