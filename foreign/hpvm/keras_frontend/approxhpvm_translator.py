"""`from keras_frontend.approxhpvm_translator import translate_to_approxhpvm`, as in HPVM."""

from assay.native.hpvm.frontend import translate_to_approxhpvm

__all__ = ["translate_to_approxhpvm"]
