"""Weights and data in HPVM's form, by HPVM's names."""

from assay.compat.hpvm.weight_utils import dumpCalibrationData, reloadHPVMWeights

__all__ = ["dumpCalibrationData", "reloadHPVMWeights"]
