"""HPVM's base class of benchmarks: a script ends with `exportToHPVM(sys.argv)`."""

from assay.compat.hpvm.benchmark import Benchmark

__all__ = ["Benchmark"]
