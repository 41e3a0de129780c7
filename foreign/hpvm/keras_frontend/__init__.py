"""HPVM's name for what assay.native has: for scripts that were written for HPVM."""
