"""`python -m assay.worker IN OUT`: the name that workers of every version are started by."""

from assay.worker.server import main

main()
