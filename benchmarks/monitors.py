"""What watching costs and whether it sees true: run as `python benchmarks/monitors.py`.

Three questions, each with its limit; the exit status is 1 when one is broken.

1. Cost: the CPU time of the whole thread that watches, waking up included, beside a child that
   keeps every core busy: caches are cold then and a look is dearest. Under 0.2 % of a core.
2. Memory: a child holds 300 MB; the peak told is within 1 % of the VmHWM it reads of itself.
3. A child that lives 50 ms with 200 MB is seen at all.
"""

from __future__ import annotations

import os
import resource
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from assay.measure.monitoring import Monitoring

COST, ACCURACY = 0.002, 0.01
BUSY = "import numpy as np\na = np.ones((1500, 1500), 'f4')\nwhile True: a @ a"
HOLDS = """
import time
held = bytearray(300_000_000)
for i in range(0, len(held), 4096): held[i] = 1
text = open("/proc/self/status").read()
print(text.split("VmHWM:")[1].split()[0], flush=True)
time.sleep(1.0)
"""
BRIEF = "held = bytearray(200_000_000)\nfor i in range(0, len(held), 4096): held[i] = 1"


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 30.0
    cost, own, looks = cost_beside_load(seconds)
    print(f"cost: {cost:.3%} of a core, {own:.3%} of it in looks; {looks / seconds:.1f} looks/s")
    told, true = peak_of_holder()
    print(
        f"memory: told {told / 1e6:.2f} MB, VmHWM {true / 1e6:.2f} MB, off {told / true - 1:+.3%}"
    )
    brief, lived = peak_of_brief()
    print(f"brief child: {lived * 1e3:.0f} ms, told {brief / 1e6:.0f} MB of 200 MB held")
    broken = [cost >= COST, abs(told / true - 1) >= ACCURACY, not 200e6 < brief < 240e6]
    return int(any(broken))


def cost_beside_load(seconds: float) -> tuple[float, float, int]:
    child = subprocess.Popen([sys.executable, "-c", BUSY], start_new_session=True)
    try:
        time.sleep(1)
        watcher, looks = _watcher(child.pid), 0
        start, end = time.thread_time(), time.monotonic() + seconds
        while time.monotonic() < end:
            pause = watcher.look()
            looks += 1
            select.select([], [], [], pause)
        spent = time.thread_time() - start
    finally:
        child.kill()
        child.wait()
    return spent / seconds, watcher.end(None)["monitor_cost"], looks


def peak_of_holder() -> tuple[float, float]:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDS], stdout=subprocess.PIPE, start_new_session=True
    )
    watcher = _watcher(child.pid)
    assert child.stdout
    line = child.stdout.readline()
    child.stdout.close()
    watcher.look(everything=True)
    return watcher.end(_reaped(child))["max_rss"], 1024.0 * int(line)


def peak_of_brief() -> tuple[float, float]:
    start = time.monotonic()
    child = subprocess.Popen([sys.executable, "-S", "-c", BRIEF], start_new_session=True)
    watcher = _watcher(child.pid)
    usage = _reaped(child)  # nobody looks while it lives
    return watcher.end(usage)["max_rss"], time.monotonic() - start


def _watcher(pid: int) -> Monitoring:
    return Monitoring(pid, Path(tempfile.mkdtemp(prefix="assay-")))


def _reaped(child: subprocess.Popen[bytes]) -> resource.struct_rusage:
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage


if __name__ == "__main__":
    sys.exit(main())
