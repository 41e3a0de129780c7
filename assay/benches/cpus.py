"""CPU cores from the text of /proc/cpuinfo."""

from __future__ import annotations


def cores(text: str) -> int:
    """Physical ones, hyper-threads not counted; 0 where the kernel does not tell, as on ARM."""
    found = set()
    for block in text.split("\n\n"):
        pairs = (line.partition(":")[::2] for line in block.splitlines())
        facts = {name.strip(): value.strip() for name, value in pairs}
        if "core id" in facts:
            found.add((facts.get("physical id"), facts["core id"]))
    return len(found)
