"""YAML as plain values: scalars of its 1.2 core schema, merges, and the lines of keys."""

import math
from typing import Any

import pytest
import yaml
from carillon.config.yaml_text import parse


def test_scalars_are_those_of_the_core_schema() -> None:
    """The example of YAML 1.2.2, section 10.3.2, and what the version before took for more."""
    tree, _ = parse(
        """\
A null: null
Also a null: # Empty
Not a null: ""
Booleans: [ true, True, false, FALSE ]
Integers: [ 0, 0o7, 0x3A, -19 ]
Floats: [ 0., -0.0, .5, +12e03, -2E+05 ]
Also floats: [ .inf, -.Inf, +.INF, .NAN ]
Words: [ on, no, Y, 1:30, 2026-11-27, 0o8, 12e, 1_x, <, ~x ]
Spaced: [ 10_000, 1_0.5, 007, 0b11 ]
"""
    )
    assert tree["A null"] is None
    assert tree["Also a null"] is None
    assert tree["Not a null"] == ""
    assert tree["Booleans"] == [True, True, False, False]
    assert tree["Integers"] == [0, 7, 0x3A, -19]
    assert tree["Floats"] == [0.0, 0.0, 0.5, 12e3, -2e5]
    assert math.copysign(1, tree["Floats"][1]) == -1
    assert tree["Also floats"][:3] == [math.inf, -math.inf, math.inf]
    assert math.isnan(tree["Also floats"][3])
    assert tree["Words"] == "on no Y 1:30 2026-11-27 0o8 12e 1_x < ~x".split()
    assert tree["Spaced"] == [10000, 10.5, 7, 3]
    assert [type(each) for each in tree["Integers"] + tree["Floats"]] == [int] * 4 + [float] * 5


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("", {}),
        ("# only a note", {}),
        ("7", 7),
        ("!tagged [3]", [3]),
        ("a: !!str 7", {"a": "7"}),
        ("a: !!float 7", {"a": 7.0}),
        ("true: 1\n2: 3", {"true": 1, "2": 3}),
        ("a: &x [1]\nb: *x", {"a": [1], "b": [1]}),
        ("a: |\n  two\n  lines\n", {"a": "two\nlines\n"}),
    ],
)
def test_values_are_plain(text: str, tree: Any) -> None:
    assert parse(text)[0] == tree


def test_own_keys_count_before_merged_ones_and_earlier_mappings_before_later_ones() -> None:
    """As the merge key's specification has it; what is merged may itself have been merged."""
    tree, lines = parse(
        """\
- &CENTER { x: 1, y: 2 }
- &LEFT { x: 0, y: 2 }
- &BIG { r: 10 }
- &SMALL { r: 1 }
- { <<: *CENTER, r: 10, label: center }
- { <<: [ *CENTER, *BIG ], label: center }
- &ALL { <<: [ *BIG, *LEFT, *SMALL ], x: 1, label: center }
- <<: *ALL
  y: 3
"""
    )
    assert tree[4] == {"x": 1, "y": 2, "r": 10, "label": "center"}
    assert tree[5] == {"x": 1, "y": 2, "r": 10, "label": "center"}
    assert tree[6] == {"x": 1, "y": 2, "r": 10, "label": "center"}
    assert tree[7] == {"x": 1, "y": 3, "r": 10, "label": "center"}
    assert lines[7, "y"] == 9
    assert (7, "x") not in lines


def test_lines_are_those_of_keys_and_items() -> None:
    _, lines = parse("a: 1\n\nb:\n  - c: 2\n    d: {e: 3,\n      f: 4}\n  -\n    5\n")
    assert lines == {
        ("a",): 1,
        ("b",): 3,
        ("b", 0): 4,
        ("b", 1): 8,
        ("b", 0, "c"): 4,
        ("b", 0, "d"): 5,
        ("b", 0, "d", "e"): 5,
        ("b", 0, "d", "f"): 6,
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\na: 2", 'found duplicate key "a"'),
        ("? [a]\n: 1", "a key is a list or a mapping"),
        ("a: {<<: 3}", "`<<` merges a mapping"),
        ("a: {<<: [3]}", "`<<` merges a mapping"),
        ("a: *b", "found undefined alias"),
        ("a: 1\n---\nb: 2", "but found another document"),
        ("a: [1", "did not find expected"),
    ],
)
def test_mistakes_have_a_place(text: str, problem: str) -> None:
    with pytest.raises(yaml.MarkedYAMLError) as caught:
        parse(text)
    assert problem in str(caught.value.problem)
    assert caught.value.problem_mark is not None


def test_merges_of_merges_take_no_time() -> None:
    text = "a0: &a0 {x: 1}\n"
    for i in range(1, 200):
        text += f"a{i}: &a{i} {{<<: [*a{i - 1}, *a{i - 1}]}}\n"
    assert parse(text)[0]["a199"] == {"x": 1}


@pytest.mark.parametrize("form", ["[*a{0}, *a{0}]", "{{<<: {{p: *a{0}}}, q: *a{0}}}"])
def test_aliases_do_not_stand_for_any_number_of_values(form: str) -> None:
    text = "a0: &a0 x\n" + "".join(f"a{i}: &a{i} {form.format(i - 1)}\n" for i in range(1, 60))
    with pytest.raises(ValueError, match="too many keys"):
        parse(text)


@pytest.mark.parametrize(
    "text", ["[" * 200_000, "{a: " * 50_000, "&a [*a]", "&a {<<: *a}", "- " * 100_000]
)
def test_nesting_has_an_end(text: str) -> None:
    with pytest.raises((yaml.YAMLError, RecursionError)):
        parse(text)
