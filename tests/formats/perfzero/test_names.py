from __future__ import annotations

import pytest

from assay.core.errors import UsageError
from assay.formats.perfzero.names import Filter, Method, parse


def test_exact_names_come_back_unchanged_and_in_order():
    names = ["foo.Class.method_1", "bar.sub.Class.method_2"]

    assert [found.name for found in parse(names)] == names


def test_one_text_may_hold_several_names():
    assert [found.name for found in parse(["a.B.c,d.E.f", "g.H.i"])] == ["a.B.c", "d.E.f", "g.H.i"]


def test_a_colon_goes_before_a_method_with_dots():
    (found,) = parse(["pkg.module.Class:benchmark__name.performance"])

    assert found == Method("pkg.module", "Class", "benchmark__name.performance")
    assert found.name == "pkg.module.Class:benchmark__name.performance"


def test_a_filter_matches_from_the_beginning_as_perfzero_does():
    (found,) = parse(["new_foo.BenchmarkClass.filter:bench.*"])

    assert found == Filter("new_foo", "BenchmarkClass", "bench.*")
    assert found.matches("benchmark_method_1")
    assert not found.matches("my_bench")


@pytest.mark.parametrize("pattern", ["x{1,2}", "(a,b)", "a,.*"])
def test_a_comma_of_a_regular_expression_does_not_end_it(pattern):
    found = parse([f"a.B.filter:{pattern},c.D.e"])

    assert found == [Filter("a", "B", pattern), Method("c", "D", "e")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("method", "names no method of a class"),
        ("Class.method", "names no method of a class"),
        ("a.B.", "has no method's name"),
        ("a.B.filter:(", "is no regular expression"),
    ],
)
def test_a_name_that_is_none_is_refused_with_what_it_lacks(text, words):
    with pytest.raises(UsageError, match=words):
        parse([text])
