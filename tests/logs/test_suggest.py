from __future__ import annotations

from pathlib import Path

import pytest

from assay.logs.reader import LogReader
from assay.logs.suggest import Suggester, confirm_suggestions, suggestion_table

LOGS = Path(__file__).parent / "logs"


def suggested(name):
    data = (LOGS / f"{name}.log").read_bytes()
    suggester = Suggester()
    suggester.feed(data)
    metrics = confirm_suggestions(suggester.finish(), [data])
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
            assert found.computed, (log.name, found)


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


def made_from(text):
    data = text.encode()
    suggester = Suggester()
    suggester.feed(data)
    metrics = confirm_suggestions(suggester.finish(), [data])
    with LogReader(metrics) as reader:
        reader.feed(data)
        return {one.metric.name: one for one in reader.finish(0).metrics}


@pytest.mark.parametrize(
    ("lines", "name", "value", "compute"),
    [
        ("3x3_s1\tforward: 1.5 ms\n3x3_s1\tforward: 2.5 ms\n", "forward", 2.0, "median"),
        ("BLEU-4: 31.2\nBLEU-4: 33.5\n", "bleu-4", 33.5, "last"),
        (
            "| ms/batch 12.5 | loss 5.1\n| ms/batch 13.5 | loss 4.0\n",
            "ms_per_batch",
            13.0,
            "median",
        ),
        ("tok/s: 100\ntok/s: 300\n", "tok_per_s", 200.0, "average"),
        ("speed 100 tok/s\nspeed 300 tok/s\n", "speed", 200.0, "average"),
        ("train/loss: 0.5\ntrain/loss: 0.25\n", "train_loss", 0.25, "last"),
        ("s/it: 2.0\ns/it: 4.0\n", "s_per_it", 3.0, "median"),
        ("step time: 2.0 s\nstep time: 4.0 s\n", "time", 3.0, "median"),
        ("batch_time=2.0\nbatch_time=4.0\n", "batch_time", 3.0, "median"),
        ("epoch_time=2.0\nepoch_time=4.0\n", "epoch_time", 6.0, "total"),
        ("elapsed: 2.0\nelapsed: 4.0\n", "elapsed", 4.0, "last"),
        ("top_5: 0.5\ntop_5: 0.75\n", "top_5", 0.75, "last"),
    ],
)
def test_a_line_is_read_as_it_is_meant(lines, name, value, compute):
    found = made_from(lines)[name]

    assert (found.value, found.metric.compute) == (value, compute)


@pytest.mark.parametrize(
    "lines",
    [
        "loss 5 a\nloss 6 b\nxloss 7\n",
        "conv3x3 2loss: 1.5\nconv3x3 2loss: 2.5\n",
        "a-loss=1.0 loss=2.0\na-loss=3.0 loss=4.0\n",
        "loss=1.0 ms\nloss=2.0\nloss=3.0 ms\nloss=4.0\n",
        "é loss: 1\né loss: 2\nloss: 3\n",
        "x" * 3000 + " loss: 1\nloss: 2\nloss: 3\n",
    ],
)
def test_what_is_suggested_finds_the_numbers_it_was_made_from(lines):
    for found in made_from(lines).values():
        assert found.computed
        assert found.status == "ok"
