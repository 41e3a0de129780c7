"""Two sets of results side by side, case by case and together; and one that is measured again."""

from __future__ import annotations
