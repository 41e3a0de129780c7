"""Facts of a machine, from files that may be missing or strange."""

import pytest

from assay.measure.machine import kernel

CPUINFO = """processor\t: 0
model name\t: Xeon
physical id\t: 0
flags\t\t: fpu avx2 avx512f avx512_vnni amx_bf16 hypervisor
processor\t: 1
model name\t: Xeon
physical id\t: 1
flags\t\t: fpu avx2
"""


def put(root, path, text):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_processor_sockets_and_flags_are_told(tmp_path):
    put(tmp_path, "proc/cpuinfo", CPUINFO)

    found = kernel.hardware(tmp_path)

    assert (found["cpu"], found["sockets"]) == ("Xeon", 2)


def test_flags_of_interest_alone_are_told(tmp_path):
    put(tmp_path, "proc/cpuinfo", CPUINFO.partition("processor\t: 1")[0])

    assert kernel.hardware(tmp_path)["cpu_flags"] == "amx_bf16 avx2 avx512_vnni avx512f"


def test_caches_are_in_bytes_without_instructions(tmp_path):
    for index, (level, kind, size) in enumerate(
        [(1, "Data", "32K"), (1, "Instruction", "64K"), (3, "Unified", "32M")]
    ):
        folder = f"sys/devices/system/cpu/cpu0/cache/index{index}"
        put(tmp_path, f"{folder}/level", f"{level}\n")
        put(tmp_path, f"{folder}/type", f"{kind}\n")
        put(tmp_path, f"{folder}/size", f"{size}\n")

    found = kernel.hardware(tmp_path)

    assert (found["cache_l1"], found["cache_l3"]) == (32 << 10, 32 << 20)


@pytest.mark.parametrize(
    "quota, cpus", [("150000 100000\n", 1.5), ("max 100000\n", None), ("rubbish", None)]
)
def test_a_quota_of_version_2_is_a_number_of_cpus(tmp_path, quota, cpus):
    put(tmp_path, "proc/self/cgroup", "0::/box\n")
    put(tmp_path, "sys/fs/cgroup/box/cpu.max", quota)

    assert kernel.limits(tmp_path).get("cgroup_cpus") == cpus


def test_limits_of_version_1_are_read_where_the_container_shows_them(tmp_path):
    put(tmp_path, "proc/self/cgroup", "4:memory:/docker/x\n1:cpu,cpuacct:/docker/x\n")
    put(tmp_path, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n")
    put(tmp_path, "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
    put(tmp_path, "sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n")

    assert kernel.limits(tmp_path) == {"cgroup_cpus": 0.5, "cgroup_memory": 1 << 30}


def test_no_limit_is_no_fact(tmp_path):
    put(tmp_path, "proc/self/cgroup", "4:memory:/\n1:cpu:/\n")
    put(tmp_path, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
    put(tmp_path, "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
    put(tmp_path, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")

    assert kernel.limits(tmp_path) == {}


def test_the_state_now_is_told(tmp_path):
    put(tmp_path, "proc/loadavg", "1.25 0.5 0.1 1/80 999\n")
    put(tmp_path, "proc/meminfo", "SwapTotal:  100 kB\nSwapFree:   60 kB\nHugePages_Total: 3\n")
    put(tmp_path, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n")
    put(tmp_path, "sys/devices/system/cpu/intel_pstate/no_turbo", "1\n")

    assert kernel.state(tmp_path) == {
        "governor": "powersave",
        "turbo": False,
        "load_average": 1.25,
        "swap_used": 40 * 1024,
    }


def test_a_machine_without_any_file_has_few_facts_and_no_error(tmp_path):
    assert kernel.state(tmp_path) == {}
    assert kernel.limits(tmp_path) == {}
    assert "cpus" in kernel.hardware(tmp_path)


def test_the_image_is_told_where_podman_or_the_user_tells_it(tmp_path, monkeypatch):
    put(tmp_path, "run/.containerenv", 'image="docker.io/x:1"\nimageid="sha256:abc"\n')
    monkeypatch.delenv("ASSAY_IMAGE_DIGEST", raising=False)

    found = kernel.system(tmp_path)

    assert (found["container"], found["image_digest"]) == ("podman", "sha256:abc")
