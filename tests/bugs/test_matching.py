"""What two versions of a kernel do otherwise, once names are followed: of texts alone, without Triton."""

from __future__ import annotations

import ast

import pytest

from prlx import _expressions, _matching, _mixing

HEAD = ["col = tl.arange(0, N)", "live = col < n", "v = tl.load(x + col, mask=live)"]


def found(a: list[str], b: list[str]) -> list[tuple[int, str, str]]:
    """The statements of B at which something is otherwise, each as it is with A's expression, and A's with B's."""
    before, after = _expressions.Text(a), _expressions.Text(b)
    return [
        (spot.b.k, _matching.with_a(after, before, spot), _matching.with_b(after, before, spot))
        for spot in _matching.spots(after, before)
        if not spot.late
    ]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (["tl.store(y, tl.exp(v * 2))"], ["w = v * 2", "e = tl.exp(w)", "tl.store(y, e)"]),
        (["w = v * 2", "tl.store(y, tl.exp(w))"], ["tl.store(y, tl.exp(2 * v))"]),
        (["tl.store(y + p * n + col, v)"], ["at = p * n + col", "tl.store(y + at, v)"]),
        (["tl.store(y + p * n + col, v)"], ["row = y + p * n", "tl.store(row + col, v)"]),
        (["tl.store(y, v, mask=(v > 0) & live)"], ["keep = live & (0 < v)", "tl.store(y, v, mask=keep)"]),
        (["tl.store(y, v)", "tl.store(z, col)"], ["tl.store(z, col)", "tl.store(y, v)"]),
        (["v += 1", "tl.store(y, v)"], ["w = v + 1", "tl.store(y, w)"]),
        (
            ["for s in range(0, n, N):", "t = s + col", "tl.store(y + t, v)"],
            ["k = tl.cdiv(n, N)", "for i in range(0, k):", "tl.store(y + (i * N + col), v)"],
        ),
    ],
)
def test_what_only_has_other_names_is_the_same(a, b):
    assert found(HEAD + a, HEAD + b) == []


@pytest.mark.parametrize(
    ("a", "b", "line", "repaired", "broken"),
    [
        # split: the part that was split off is wrong, not the statement that uses it
        (["tl.store(y, v - tl.sum(v, 0) / n)"], ["m = tl.sum(v, 0) / N", "tl.store(y, v - m)"],
         3, "m = tl.sum(v, 0) / n", "tl.store(y, v - tl.sum(v, 0) / N)"),
        # of a chain that binds one name again and again, the link that is wrong
        (["q = tl.minimum(tl.maximum(v, 0), 7)", "tl.store(y, q)"],
         ["q = v", "q = tl.maximum(q, 0)", "q = tl.minimum(q, 8)", "tl.store(y, q)"],
         5, "q = tl.minimum(q, 7)", "q = tl.minimum(tl.maximum(v, 0), 8)"),
        # the right value has a name, and another is used
        (["at = p * N + col", "tl.store(y + at, tl.rand(s, at))"], ["at = p * N + col", "tl.store(y + at, tl.rand(s, col))"],
         4, "tl.store(y + at, tl.rand(s, at))", "tl.store(y + at, tl.rand(s, col))"),
        # a term is lost in a sum that was split
        (["tl.store(y + p + n - N + 1 + col, v)"], ["t = n - N", "tl.store(y + p + (t + col), v)"], 3, "t = n - N + 1", ""),
        # a call is lost around a part that was split off
        (["tl.store(y, v / tl.maximum(tl.max(v, 0), 1))"], ["t = tl.max(v, 0)", "tl.store(y, v / t)"],
         4, "tl.store(y, v / tl.maximum(t, 1))", "tl.store(y, v / tl.max(v, 0))"),
        # a loop that is counted ends too early
        (["for s in range(0, n, N):", "tl.store(y + (s + col), v)"],
         ["k = n // N", "for i in range(0, k):", "tl.store(y + (i * N + col), v)"], 3, "k = tl.cdiv(n, N)", ""),
    ],
)  # fmt: skip
def test_the_statement_that_is_wrong_is_told_from_those_that_use_it(a, b, line, repaired, broken):
    (spot,) = found(HEAD + a, HEAD + b)
    assert spot[0] == line
    assert "".join(spot[1].split()) in (
        "".join(repaired.split()),
        "".join(repaired.split()).replace("tl.maximum(t,", "tl.maximum(tl.max(v,0),"),
    )
    assert not broken or "".join(spot[2].split()) == "".join(broken.split())


def test_what_a_loop_carries_is_looked_at_though_nothing_below_uses_it():
    loop = ["for i in range(0, 4):", "tl.store(y + at, v)"]
    spots = found(["at = col", *loop, "at += N"], ["at = col", *loop, "at += n"])
    assert spots == [(3, "at += N", "at += n")]


def test_two_parts_of_an_expression_are_exchanged_together_too():
    spots = found([*HEAD, "tl.store(y, q1 * c + q0 * s)"], [*HEAD, "t = k1 * c + k0 * s", "tl.store(y, t)"])
    assert {line for line, _, _ in spots} == {3}
    assert "t = q1 * c + q0 * s" in [text for _, text, _ in spots]


def test_stores_are_held_against_those_to_the_same_array():
    last = ["tl.store(picks + p, q)", "tl.store(own + p, tl.max(tl.where(col == q, v, -1.0), 0))"]
    a = ["u = tl.maximum(tl.rand(n, p * n + col), 1e-10)", "s = v / tl.load(h + p) - tl.log(-tl.log(u))"]
    b = ["e = -tl.log(-tl.log(tl.maximum(tl.rand(n, col), 1e-10)))", "q = tl.argmax((e + v) / tl.load(h + p), 0)"]
    spots = found([*HEAD, *a, "q = tl.argmax(s, 0)", *last], [*HEAD, *b, *last])
    assert not any("picks" in text or "own" in text for _, text, _ in spots), spots


def test_a_condition_that_is_turned_turns_its_branches():
    bias, steps = "tl.load(bias + col, mask=live)", "tl.load(steps + col, mask=live)"
    a = [f"d = {steps} + {bias}", "d = tl.where(d <= 20.0, tl.log(1.0 + tl.exp(d)), d)"]
    b = [f"r = {bias}", "d = tl.where(r > 20.0, r, tl.log(1.0 + tl.exp(r)))"]
    spots = found([*HEAD, *a, "tl.store(y, d)"], [*HEAD, *b, "tl.store(y, d)"])
    assert (3, f"r = {steps} + {bias}") in [spot[:2] for spot in spots], spots


def test_a_name_that_holds_what_stands_beside_it_is_not_taken_for_that():
    spots = found([*HEAD, "tl.store(y, (c + N - 1) // N * N)"], [*HEAD, "t = N", "tl.store(y, t * N)"])
    assert [(line, text) for line, text, _ in spots] == [(3, "t = (c + N - 1) // N")]


def test_a_part_that_is_added_where_it_is_taken_away_is_wrong_where_it_is_used():
    spots = found([*HEAD, "tl.store(y, (u - v) - (p - n))"], [*HEAD, "o = u - v", "t = p - n", "tl.store(y, o + t)"])
    assert [line for line, _, _ in spots] == [5]


def test_what_a_link_of_a_chain_lost_was_lost_there():
    a = ["q = v * n", "q = tl.maximum(tl.minimum(q, 7), 1)", "tl.store(y, q + 1)"]
    b = ["q = v * n", "q = tl.minimum(q, 7)", "tl.store(y, 1 + q)"]
    assert {line for line, _, _ in found(HEAD + a, HEAD + b)} == {4}


def versions(a: list[str], b: list[str]) -> _mixing.Versions:
    """Two kernels of these statements."""
    head = "def kernel(x, y, n, N, s):\n    "
    return _mixing.Versions((head + "\n    ".join(a), 1), (head + "\n    ".join(b), 1))


def test_a_variable_that_a_never_computes_is_tried_as_what_b_never_computes():
    both = versions(
        [*HEAD, "tl.store(y + col, v * tl.where(col % 2 == 0, -1.0, 1.0))"],
        [*HEAD, "even = col < N // 2", "turned = tl.where(even, -v, v)", "tl.store(y + col, turned)"],
    )
    first = next(change for change in both.changes if change.b == 3)
    lines = [line.strip() for mix in both.redefined(first) for line in mix.text.splitlines()]
    assert "even = col % 2 == 0" in lines
    assert all(mix.leans and mix.rank == 0 for mix in both.redefined(first)), "nothing of that is sure"
    more = versions([*HEAD, "tl.store(y, v >> col % 8)"], [*HEAD, "bit = 7 - col % 8", "tl.store(y, v >> bit)"])
    first = next(change for change in more.changes if change.b == 3)
    assert any("bit = col % 8\n" in mix.text for mix in more.redefined(first)), "B has that, and does more with it"
    same = versions([*HEAD, "tl.store(y + col, v * 2)"], [*HEAD, "w = v * 2", "tl.store(y + col, w)"])
    assert [mix for change in same.changes for mix in same.redefined(change)] == [], "A computes that, too"


@pytest.mark.parametrize(("first", "guessed"), [("u = tl.log(v)", False), ("u = tl.exp(v)", True)])
def test_what_stands_on_a_value_that_a_has_no_variable_for_is_guessed(first, guessed):
    both = versions([*HEAD, first, "tl.store(y, u + 1)"], [*HEAD, "w = tl.log(v)", "tl.store(y, w)"])
    value = ast.parse("tl.log(v)", mode="eval").body
    both.noted = (
        {(3, ast.dump(value)): (7, 1)},
        {(4, ast.dump(ast.Name(both.b[3].text.split()[0], ast.Load()))): (7, 1)},
    )
    last = next(change for change in both.changes if change.b == 4)
    assert both.is_guessed(last, None) == guessed


def test_of_two_terms_that_are_the_same_either_may_be_wrong():
    before = _expressions.Text(["at = (h * n + n - 1 - s) * D", "tl.store(out + at, 1)"])
    after = _expressions.Text(["t = n - 1 - s", "at = (n + t) * D", "tl.store(out + at, 1)"])
    assert {spot.b.k for spot in _matching.spots(after, before)} == {0, 1}


def test_a_statement_that_assigns_what_another_holds_does_nothing():
    noted = {
        (1, ast.dump(ast.parse("v.to(t)", mode="eval").body)): (5, 1),
        (1, ast.dump(ast.Name("v", ast.Load()))): (5, 1),
    }
    text = _expressions.Text(["v = tl.load(x)", "k = v.to(t)", "m = v + 1"], noted)
    assert [text.does_nothing(k) for k in range(3)] == [False, True, False]


def test_an_address_begins_with_its_argument():
    text = _expressions.Text(
        ["row = x + p * n", "at = row[:, None] + col", "tl.store(at, v)", "tl.store(tl.abs(v), v)"]
    )
    assert [text.stores_to(one) for one in text.effects()] == ["x", ""]


def test_where_one_effect_was_made_of_several_nothing_is_said():
    assert found([*HEAD, "tl.store(y, v)"], [*HEAD, "tl.store(y, v, mask=a)", "tl.store(y, v, mask=b)"]) == []


def test_texts_that_are_no_statements_and_deep_ones_end():
    deep = "v" + " + (v" * 200 + ")" * 200
    odd = ["else:", "x, y = f(x)", "", f"w = {deep}"]
    assert found([*odd, "tl.store(y, w)"], ["else:", "tl.store(y, v)"])
    assert found([*odd, "tl.store(y, x)"], [*odd, "tl.store(y, x)"]) == []
    names = [f"v{i + 1} = v{i} * v{i}" for i in range(60)]
    assert found(["v0 = a", *names, "tl.store(y, v60)"], ["v0 = b", *names, "tl.store(y, v60)"])


def noted(texts: list[str], held: dict[str, int]) -> _expressions.Text:
    """A version of which it was seen what some expressions hold."""
    plain = _expressions.Text(texts)
    seen = {}
    for k, tree in enumerate(plain.trees):
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.expr) and ast.unparse(node) in held:
                seen[k, ast.dump(node)] = (held[ast.unparse(node)], 1)
    return _expressions.Text(texts, seen)


def test_expressions_that_were_seen_to_hold_the_same_are_the_same():
    a, b = ["s = sigmoid(v)", "tl.store(y, v * s)"], ["s = 1 / (1 + tl.exp(-v))", "g = w * s", "tl.store(y, g)"]
    seen = noted(a, {"sigmoid(v)": 7}), noted(b, {"1 / (1 + tl.exp(-v))": 7})
    spots = [one for one in _matching.spots(seen[1], seen[0]) if not one.late]
    assert [(one.b.k, ast.unparse(one.b.node), ast.unparse(one.a.node)) for one in spots] == [(1, "w", "v")]
    assert _matching.with_a(seen[1], seen[0], spots[0]) == "g = v * s"


@pytest.mark.parametrize(
    ("a", "b", "first", "then"),
    [
        # a factor was lost between a name and its use: rather where the name is made
        (["tl.store(y, tl.exp(tl.sum(v, 0) * c / q))"], ["d = tl.sum(v, 0)", "tl.store(y, tl.exp(d / q))"],
         "d = tl.sum(v, 0) * c", "tl.store(y, tl.exp(d * c / q))"),
        # so a number that was added: rather where the name is used
        (["tl.store(y, tl.sqrt(tl.sum(v, 0) + eps))"], ["d = tl.sum(v, 0)", "tl.store(y, tl.sqrt(d))"],
         "tl.store(y, tl.sqrt(d + eps))", "d = tl.sum(v, 0) + eps"),
        # a part of an index, which two loads use
        (["tl.store(y, tl.load(w + g * P + v // s))"], ["c = v // s", "tl.store(y, tl.load(w + c))"],
         "c = g * P + v // s", "tl.store(y, tl.load(w + g * P + c))"),
    ],
)  # fmt: skip
def test_what_was_lost_between_a_name_and_its_use_is_looked_for_in_both(a, b, first, then):
    before = noted([*HEAD, *a], {"tl.sum(v, 0)": 5, "v // s": 6})
    after = noted([*HEAD, *b], {"tl.sum(v, 0)": 5, "v // s": 6, "d": 5, "c": 6})
    spots = sorted(_matching.spots(after, before), key=lambda spot: spot.late)
    assert [spot.late for spot in spots] == [False, True]
    assert ["".join(_matching.with_a(after, before, spot).split()) for spot in spots] == [
        "".join(text.split()) for text in (first, then)
    ]


@pytest.mark.parametrize(
    ("a", "b", "line", "repaired"),
    [
        # a condition that was hoisted stands in another shape where A has it
        (["tl.store(y, v, mask=k[None, :] < n)"], ["m = k <= n", "tl.store(y, v, mask=m[None, :])"], 3, "m = k < n"),
        # and the other way round
        (["m = k < n", "tl.store(y, v, mask=m[:, None])"], ["tl.store(y, v, mask=k[:, None] <= n)"], 3,
         "tl.store(y, v, mask=(k < n)[:, None])"),
        # branches that change places with their condition
        (["tl.store(y, tl.where(live, v, 0))"], ["w = tl.where(~live, 1, v)", "tl.store(y, w)"], 3,
         "w = tl.where(~live, 0, v)"),
        # operands that change places, one of them wrong
        (["tl.store(y, tl.maximum(v, tl.exp(v)))"], ["w = tl.maximum(tl.exp(v + 1), v)", "tl.store(y, w)"], 3,
         "w = tl.maximum(tl.exp(v), v)"),
    ],
)  # fmt: skip
def test_what_stands_in_another_shape_or_order_is_held_against_its_like(a, b, line, repaired):
    spots = found(HEAD + a, HEAD + b)
    assert (line, "".join(repaired.split())) in [(k, "".join(text.split())) for k, text, _ in spots]
