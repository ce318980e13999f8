# SPDX-License-Identifier: MIT
"""The report of a run: traces in (trace), what they say (run, hints), a page out (draw, page)."""
