"""The traces of ``cases_stragglers`` lack only what their case removes."""

from prlx import find_stragglers

from .cases_stragglers import traces


def test_the_traces_are_well_where_nothing_is_missing(tmp_path):
    """Else the cases would say nothing: it would be the traces that nobody can judge."""
    assert find_stragglers(traces(tmp_path), progress=False)
