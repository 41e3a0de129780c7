"""HPVM's folder of weights and images: `from Config import MODEL_PARAMS_DIR`."""

from assay.compat.hpvm.model_params import __getattr__ as __getattr__
