# ruff: noqa: E501, PT017 - a line is a case; an error is one of two right answers
"""The language: values, errors, and what does not compile."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.cel import SERVER, CompileError, EvaluationError, Program, compile_expression, value_without_schema
from setpoint.cel.types import DYN, INT, STRING, list_of
from setpoint.cel.values import show

LIMIT = 1_000_000


def run(text: str, **variables: Any) -> Any:
    """The value, with these variables of type dyn. Raises what compiling or evaluating raises."""
    environment = SERVER.extend(dict.fromkeys(variables, DYN))
    values = {name: value_without_schema(value) for name, value in variables.items()}
    result = Program(compile_expression(text, environment)).evaluate(values, LIMIT)
    if result.error is not None:
        raise result.error
    return result.value


TRUE = """
1 + 2 * 3 == 7 && (1 + 2) * 3 == 9 && 7 / 2 == 3 && -7 / 2 == -3 && -7 % 3 == -1 && 7 % -3 == 1
1.5 + 2.0 == 3.5 && 1.0 / 0.0 == double('Infinity') && 2u + 3u == 5u && 0x1F == 31 && 1e3 == 1000.0
'a' + "b" == 'ab' && b'a' + b'b' == b'ab' && [1] + [2] == [1, 2]
'a' < 'b' && b'a' < b'b' && false < true && 1 < 2.5 && 1u < 2 && 2.5 > 2u
dyn(1) == 1.0 && dyn(1u) == 1 && dyn(1) != '1' && dyn([1]) == [1.0] && dyn(true) != 1
'\\u00e9\\x41\\101\\n'.size() == 4 && r'\\n'.size() == 2 && b'\\xff'.size() == 1 && '''a'b'''.size() == 3
has({'a': 1}.a) && !has({'a': 1}.b) && 'a' in {'a': 1} && !(1 in [2, 3]) && 1.0 in dyn([1])
true || 1 / 0 > 0
1 / 0 > 0 || true
!(false && 1 / 0 > 0) && !(1 / 0 > 0 && false)
[1, 2, 0].exists(x, 4 / x == 2) && ![1, 2, 0].all(x, 4 / x == 3)
true ? true : 1 / 0 > 0
[1, 2, 3].all(x, x > 0) && [1, 2, 3].exists(x, x == 2) && [1, 2, 3].exists_one(x, x > 2) && [].all(x, false)
[1, 2, 3].map(x, x * 2) == [2, 4, 6] && [1, 2, 3].map(x, x > 1, x * 2) == [4, 6] && [1, 2].filter(x, x > 1) == [2]
{'a': 1, 'b': 2}.map(k, k).sort() == ['a', 'b'] && {'a': 1}.all(k, k == 'a')
[3, 4].all(i, v, v == i + 3) && {'a': 1}.exists(k, v, k == 'a' && v == 1) && [5].existsOne(i, v, i == 0)
[3, 4].transformList(i, v, i * v) == [0, 4] && {'a': 1}.transformMap(k, v, v + 1) == {'a': 2}
{'a': 1}.transformMapEntry(k, v, {v: k}) == {1: 'a'} && {'a': 1, 'b': 2}.transformMap(k, v, v > 1, v) == {'b': 2}
optional.of(1).hasValue() && !optional.none().hasValue() && optional.of(1).value() == 1
{'a': 1}.?a.orValue(2) == 1 && {'a': 1}.?b.orValue(2) == 2 && [1][?1].orValue(5) == 5 && {}[?'a'] == optional.none()
{'a': {'b': 1}}.?a.?b.optMap(x, x + 1).orValue(0) == 2 && {'a': {'b': 1}}.?a.b.orValue(0) == 1
optional.of(1).optFlatMap(x, optional.of(x + 1)).value() == 2 && optional.none().or(optional.of(3)).value() == 3
[?optional.of(1), ?optional.none(), 2] == [1, 2] && {?'a': optional.none()} == {} && optional.ofNonZeroValue('') == optional.none()
[1, 2].first().value() == 1 && [1, 2].last().value() == 2 && [optional.of(1), optional.none()].unwrapOpt() == [1]
'hello'.charAt(1) == 'e' && 'hello'.indexOf('l') == 2 && 'hello'.lastIndexOf('l') == 3 && 'hello'.indexOf('l', 3) == 3
'hello'.indexOf('x') == -1 && 'hello'.substring(1, 3) == 'el' && 'hello'.replace('l', 'L', 1) == 'heLlo' && ' a '.trim() == 'a'
'a,b,c'.split(',') == ['a', 'b', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c'] && 'abc'.split('') == ['a', 'b', 'c'] && 'a'.split(',', 0) == []
['a', 'b'].join('-') == 'a-b' && 'aB'.upperAscii() == 'AB' && 'aÄB'.lowerAscii() == 'aÄb' && strings.quote('a"b') == '"a\\\\"b"'
'abc'.contains('b') && 'abc'.startsWith('ab') && 'abc'.endsWith('bc') && 'abc'.matches('^a.c$') && 'a\\n'.matches('a\\n$')
'a1b22'.find('[0-9]+') == '1' && 'a1b22'.findAll('[0-9]+') == ['1', '22'] && 'a1b22'.findAll('[0-9]', 1) == ['1'] && 'a'.find('b') == ''
'%s|%d|%.2f|%x|%o|%b|%e'.format(['a', 7, 1234.5, 255, 8, 5, 1000.0]) == 'a|7|1,234.50|ff|10|101|1.000000\u202f×\u202f10⁰³'
'%s'.format([[1, 'a', {'k': 2.5}]]) == '[1, "a", {"k":2.500000}]' && '%s %%'.format([duration('90s')]) == '90s %'
[1, 2, 3].sum() == 6 && [1.5, 2.5].sum() == 4.0 && [].sum() == 0 && [duration('1s')].sum() == duration('1s')
[2, 1].min() == 1 && ['a', 'b'].max() == 'b' && [1, 1, 2].isSorted() && ![2, 1].isSorted()
[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2 && [1, 2, 1].distinct() == [1, 2] && [1, 2].reverse() == [2, 1]
[[1], [2, 3]].flatten() == [1, 2, 3] && [1, 2, 3].slice(1, 2) == [2] && lists.range(3) == [0, 1, 2] && [3, 1].sortBy(x, -x) == [3, 1]
sets.contains([1, 2], [2]) && sets.equivalent([1, 2], [2, 1, 1]) && !sets.intersects([1], [2])
int('7') == 7 && int(2.9) == 2 && uint(7) == 7u && double(2) == 2.0 && string(1.5) == '1.5' && string(1e30) == '1e+30'
bool('true') && string(true) == 'true' && bytes('é').size() == 2 && string(b'a') == 'a' && string(-0.0000125) == '-1.25e-05'
type(1) == int && type('a') == string && type([]) == list && type({}) == map && type(null) == null_type && type(int) == type
duration('1h30m') == duration('90m') && string(duration('1500ms')) == '1.5s' && duration('90m').getHours() == 1 && duration('-1.5s').getMilliseconds() == -1500
timestamp('2024-02-29T12:00:00.5Z') + duration('12h') == timestamp('2024-03-01T00:00:00.5Z') && string(timestamp(0)) == '1970-01-01T00:00:00Z'
timestamp('2024-02-29T12:00:00Z').getDayOfYear() == 59 && timestamp('2024-02-29T23:00:00Z').getDate('+02:00') == 1 && timestamp('2024-02-29T12:00:00Z').getDayOfWeek() == 4
timestamp('2024-07-01T00:00:00Z').getHours('America/New_York') == 20 && timestamp('2024-01-01T00:00:00Z') - timestamp('2023-12-31T23:00:00Z') == duration('1h')
quantity('1Gi').isGreaterThan(quantity('1G')) && quantity('500m').add(quantity('0.5')).isInteger() && quantity('2').compareTo(quantity('2000m')) == 0
quantity('1.5').asApproximateFloat() == 1.5 && quantity('2k').asInteger() == 2000 && sign(quantity('-1')) == -1 && !isQuantity('x')
url('https://user@example.com:80/a%20b?k=v&k=w').getHost() == 'example.com:80' && url('https://[::1]:80/').getHostname() == '::1' && url('https://a:80/').getPort() == '80'
url('https://a/b c?k=v&k=w').getEscapedPath() == '/b%20c' && url('https://a/?k=v&k=w').getQuery() == {'k': ['v', 'w']} && isURL('/a') && !isURL('a') && !isURL('http://a b/')
ip('10.0.0.1').family() == 4 && ip('::1').isLoopback() && isIP('1.2.3.4') && !isIP('1.2.3') && !isIP('::ffff:1.2.3.4') && ip.isCanonical('::1') && !ip.isCanonical('::0001')
cidr('10.0.0.0/8').containsIP('10.1.2.3') && cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.0.0.0/8').prefixLength() == 8
string(cidr('10.1.2.3/8').ip()) == '10.1.2.3' && !isCIDR('10.0.0.0/33') && ip('224.0.0.5').isLinkLocalMulticast() && ip('169.254.1.1').isLinkLocalUnicast() && ip('8.8.8.8').isGlobalUnicast()
semver('1.2.3').isGreaterThan(semver('1.2.3-rc.1')) && semver('1.10.0').compareTo(semver('1.9.0')) == 1 && isSemver('v1.2', true) && !isSemver('v1.2') && semver('1.2.3').minor() == 2
format.dns1123Label().validate('ok') == optional.none() && format.dns1123Label().validate('Not_OK').hasValue() && format.named('uuid').value().validate('x').hasValue() && !format.named('nope').hasValue()
google.protobuf.Timestamp == type(timestamp(0)) && optional_type == type(optional.none())
"""

FAILS = """
1 / 0 > 1 ; division by zero
1 % 0 > 1 ; modulus by zero
9223372036854775807 + 1 > 0 ; integer overflow
-(-9223372036854775807 - 1) > 0 ; integer overflow
0u - 1u > 0u ; unsigned integer overflow
uint(-1) > 0u ; unsigned integer overflow
{'a': 1}.b == 1 ; no such key: b
{'a': 1}['b'] == 1 ; no such key: b
[1][1] == 1 ; index out of bounds: 1
dyn('a') < 1 ; no such overload
dyn(1).foo == 1 ; no such key: foo
dyn(1).startsWith('a') ; no such overload: startsWith(int, string)
optional.none().value() == 1 ; optional.none() dereference
'abc'.substring(2, 1) == '' ; invalid substring range. start: 2, end: 1
'abc'.charAt(4) == '' ; index out of range: 4
[].max() == 1 ; max called on empty list
quantity('x' + 'y').isInteger() ; quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'
duration('1' + 'x') == duration('1s') ; type conversion error from 'string' to 'google.protobuf.Duration'
timestamp(253402300799) + duration('1s') > timestamp(0) ; timestamp overflow
double('NaN') < 1.0 ; NaN values cannot be ordered
{'a': 1, 'b': 1}.transformMapEntry(k, v, {v: k}).size() == 1 ; insert failed: key 1 already exists
[1, 2].all(x, x / 0 > 1) ; division by zero
'a'.matches('(' + 'b') ; error parsing regexp: missing closing ): `(b`
ip('x' + '').family() == 4 ; IP Address "x" parse error during conversion from string: ParseAddr("x"): unable to parse IP
"""

REFUSED = """
1 + 'a' == 2 ; 1:3 ; found no matching overload for '_+_' applied to '(int, string)'
a == 1 ; 1:1 ; undeclared reference to 'a' (in container '')
'a'.nope() ; 1:9 ; undeclared reference to 'nope' (in container '')
[1].x ; 1:4 ; type 'list(int)' does not support field selection
(1).all(x, true) ; 1:2 ; expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)
[1].all(1, true) ; 1:9 ; argument must be a simple name
[1].map(x.y, true) ; 1:10 ; argument is not an identifier
[1].all(x, x, true) ; 1:12 ; duplicate variable name: x
has(1) ; 1:5 ; invalid argument to has() macro
for == 1 ; 1:1 ; reserved identifier: for
'\\z' == '' ; 1:1 ; unable to unescape string
9223372036854775808 == 1 ; 1:1 ; invalid int literal
1 == 1 # ; 1:8 ; Syntax error: token recognition error at: '#'
duration('1x') == duration('1s') ; 1:10 ; invalid duration argument
'%d'.format([1, 2]) == '' ; 1:12 ; too many arguments supplied to string.format (expected 1, got 2)
Foo{a: 1} == 1 ; 1:4 ; undeclared reference to 'Foo' (in container '')
int{} == 1 ; 1:4 ; 'int' is not a message type
[1, ?2] == [1] ; 1:6 ; expected type 'optional_type(int)' but found 'int'
"""


def lines(text: str) -> list[str]:
    return [line for line in text.strip().splitlines() if line]


@pytest.mark.parametrize("text", lines(TRUE))
def test_it_is_true(text: str) -> None:
    assert run(text) is True


@pytest.mark.parametrize("line", lines(FAILS))
def test_it_fails_with_these_words(line: str) -> None:
    text, _, words = line.partition(" ; ")
    with pytest.raises(EvaluationError) as caught:
        run(text)
    assert str(caught.value) == words


@pytest.mark.parametrize("line", lines(REFUSED))
def test_it_does_not_compile(line: str) -> None:
    text, place, words = line.split(" ; ")
    with pytest.raises(CompileError) as caught:
        run(text)
    assert str(caught.value).splitlines()[0] == f"ERROR: <input>:{place}: {words}"


def test_an_error_shows_its_line() -> None:
    with pytest.raises(CompileError) as caught:
        run("true &&\n  'é' == nope")
    assert str(caught.value) == (
        "ERROR: <input>:2:10: undeclared reference to 'nope' (in container '')\n |   'é' == nope\n | ...．.....^"
    )


@pytest.mark.parametrize("text", ["(" * 300 + "1" + ")" * 300, "-" * 9 + "[" * 200 + "]" * 200, "1" + "+1" * 400])
def test_nesting_has_an_end(text: str) -> None:
    with pytest.raises(CompileError, match="expression recursion limit exceeded"):
        run(text)


def test_long_chains_of_conditions_are_no_nesting() -> None:
    assert run(" || ".join(["1 == 2"] * 900 + ["true"])) is True


def test_an_expression_has_a_size_limit() -> None:
    with pytest.raises(CompileError, match="expression code point size exceeds limit"):
        run("'" + "a" * 100_000 + "'")


def test_an_evaluation_ends_at_its_limit() -> None:
    environment = SERVER.extend({"x": list_of(INT)})
    program = Program(compile_expression("x.all(a, x.all(b, a + b > 0))", environment))
    result = program.evaluate({"x": list(range(1, 500))}, 10_000)
    assert str(result.error) == "operation cancelled: actual cost limit exceeded"
    assert result.cost < 10_100


@pytest.mark.parametrize(
    ("network", "contains_ip", "contains_cidr"),
    [("0.0.0.0/0", 0, 1), ("10.0.0.0/24", 1, 3), ("2001:db8::/48", 2, 4), ("2001:db8::/128", 4, 7)],
)
def test_a_network_costs_what_the_bytes_of_its_prefix_cost(network: str, contains_ip: int, contains_cidr: int) -> None:
    def cost(text: str) -> int:
        return Program(compile_expression(text, SERVER.extend({"x": DYN}))).evaluate({"x": value}, LIMIT).cost

    value = run(f"cidr('{network}')")
    assert cost("x.containsIP(x.ip())") == cost("x") + cost("x.ip()") + contains_ip
    assert cost("x.containsCIDR(x)") == 2 * cost("x") + contains_cidr


def test_a_variable_that_is_not_there_is_an_error_where_it_is_read() -> None:
    program = Program(compile_expression("true || x == 'a'", SERVER.extend({"x": STRING})))
    assert program.evaluate({}, LIMIT).value is True
    program = Program(compile_expression("x == 'a'", SERVER.extend({"x": STRING})))
    assert str(program.evaluate({}, LIMIT).error) == "no such attribute(s): x"


INTS = st.integers(-(2**63), 2**63 - 1)


@given(INTS, INTS, st.sampled_from("+-*"))
def test_integers_are_exact_or_overflow(one: int, two: int, operator: str) -> None:
    wanted = {"+": one + two, "-": one - two, "*": one * two}[operator]
    try:
        assert run(f"x {operator} y", x=one, y=two) == wanted
        assert -(2**63) <= wanted < 2**63
    except EvaluationError as error:
        assert str(error) == "integer overflow"
        assert not -(2**63) <= wanted < 2**63


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=6,
)


@given(JSON, JSON)
def test_equality_is_json_equality(one: Any, two: Any) -> None:
    def same(left: Any, right: Any) -> bool:
        if isinstance(left, bool) or isinstance(right, bool):
            return left is right
        if isinstance(left, dict) and isinstance(right, dict):
            return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
        if isinstance(left, list) and isinstance(right, list):
            return len(left) == len(right) and all(map(same, left, right))
        return bool(left == right)

    try:
        assert run("x == y", x=one, y=two) is same(one, two)
    except EvaluationError as error:  # a list or an object beside something else
        assert str(error) == "no such overload"
    assert run("x == y || x != y || true", x=one, y=two) is True


@given(st.lists(st.integers(-5, 5), max_size=6))
def test_macros_are_what_python_has(items: list[int]) -> None:
    assert run("x.all(a, a > 0)", x=items) is all(item > 0 for item in items)
    assert run("x.exists(a, a > 0)", x=items) is any(item > 0 for item in items)
    assert run("x.exists_one(a, a > 0)", x=items) is (sum(item > 0 for item in items) == 1)
    assert run("x.map(a, a * 2)", x=items) == [item * 2 for item in items]
    assert run("x.filter(a, a > 0)", x=items) == [item for item in items if item > 0]


@given(st.text("ab,", max_size=8), st.text("ab,", max_size=2), st.integers(-1, 4))
def test_splitting_and_joining_are_inverse(text: str, separator: str, most: int) -> None:
    parts = run("x.split(s, n)", x=text, s=separator, n=most)
    assert parts == [] if most == 0 else separator.join(parts) == text


@given(st.text(max_size=40))
def test_no_text_breaks_the_parser(text: str) -> None:
    try:
        show(run(text))
    except (CompileError, EvaluationError) as error:
        assert str(error)
