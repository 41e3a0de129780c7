"""Behaviour as it was at commit f7cfc39, before the modules moved: recorded, and compared."""
