from __future__ import annotations

from pathlib import Path

import pytest

from assay.tasks.reader import LogReader
from assay.tasks.suggest import Suggester, suggestion_table

LOGS = Path(__file__).parent / "logs"


def suggested(name):
    data = (LOGS / f"{name}.log").read_bytes()
    suggester = Suggester()
    suggester.feed(data)
    metrics = suggester.finish()
    with LogReader(metrics) as reader:
        reader.feed(data)
        return reader.finish()


def test_the_documented_log_suggests_the_documented_metrics():
    found = {one.metric.name: one for one in suggested("mxnet_documented").metrics}
    assert found["speed"].value == pytest.approx(823.037128)
    assert found["training_accuracy"].value == 0.351983
    assert found["validation_accuracy"].value == 0.39393
    assert found["time_cost"].value == pytest.approx(130.2971)
    assert found["speed"].metric.direction == "higher"
    assert found["time_cost"].metric.direction == "lower"


def test_counters_and_numbers_that_never_change_are_not_suggested():
    names = {one.metric.name for one in suggested("torch_nan").metrics}
    assert names == {"loss"}


@pytest.mark.parametrize(
    ("log", "names"),
    [
        ("keras_piped", {"loss", "accuracy", "val_loss", "val_accuracy"}),
        ("horovod", {"img_per_sec"}),
        ("pytorch_imagenet", {"acc@1", "acc@5", "loss", "time"}),
        ("pytorch_lightning", {"train_loss"}),
        ("huggingface_trainer", {"loss"}),
        ("tf_cnn_benchmarks", {"images_per_sec"}),
        ("vllm", {"throughput", "generation_throughput"}),
    ],
)
def test_logs_of_real_programs_suggest_their_main_numbers(log, names):
    assert names <= {one.metric.name for one in suggested(log).metrics}


def test_every_suggestion_gives_a_value_for_its_own_log():
    for log in LOGS.glob("*.log"):
        for found in suggested(log.stem).metrics:
            assert found.status == "ok", (log.name, found)


def test_the_table_shows_what_each_would_give():
    table = suggestion_table(suggested("mxnet_documented"))
    assert table.rows[0] == (
        "speed",
        "average",
        "823.037",
        "samples/sec",
        "6",
        r"\tSpeed: +{number} samples/sec",
    )
