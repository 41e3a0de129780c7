"""`python -m assay`, for where the command is not on the path."""

from assay.cli import main

main()
