"""Texts that name things with arguments."""

import hypothesis
import hypothesis.strategies as st
import pytest

from klss_spiel.specification import Registry, Specification, parse


def test_names_arguments_and_nesting_are_read():
    parsed = parse('pimc(64, depth=4, engine=uci("stockfish, x"), fast=true, c=1.5)')
    assert parsed.name == "pimc"
    assert parsed.positional == (64,)
    assert parsed.arguments == {
        "depth": 4,
        "engine": Specification("uci", ("stockfish, x",)),
        "fast": True,
        "c": 1.5,
    }


_VALUES = st.one_of(
    st.booleans(),
    st.integers(-1000, 1000),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text('ab,()="\\ 1e5_', min_size=1).filter(lambda text: text == text.strip()),
)
_SPECIFICATIONS = st.recursive(
    st.builds(Specification, st.just("zero")),
    lambda inner: st.builds(
        Specification,
        st.sampled_from(["a", "resolver", "x_1"]),
        st.lists(st.one_of(_VALUES, inner), max_size=3).map(tuple),
        st.dictionaries(st.sampled_from(["k", "depth"]), st.one_of(_VALUES, inner)).map(
            lambda pairs: tuple(pairs.items())
        ),
    ),
    max_leaves=4,
)


@hypothesis.given(_SPECIFICATIONS)
def test_writing_and_reading_gives_the_same(specification):
    again = parse(str(specification))
    # A specification without arguments inside another is read as a bare word.
    assert str(again) == str(specification)


@pytest.mark.parametrize(
    "text", ["", "f(", "f(1", "f(1,)", "f(a=1, 2)", "f(a=1, a=2)", "f)x", "3", "f(1)g", "3(1)"]
)
def test_bad_texts_are_refused(text):
    with pytest.raises(ValueError, match="expected"):
        parse(text)


def test_a_registry_makes_refuses_and_suggests():
    registry = Registry("colour")
    registry.register("red", lambda shade=1: ("red", shade))
    assert registry.make("red(shade=3)") == ("red", 3)
    with pytest.raises(ValueError, match="did you mean red"):
        registry.make("rad")
    with pytest.raises(ValueError, match="cannot make colour red"):
        registry.make("red(size=3)")
    with pytest.raises(ValueError, match="free name"):
        registry.register("red", lambda: None)
