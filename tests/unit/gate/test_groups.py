"""Which tests share a process: those that want one special server, and those of a module with fixtures of its own.

And until when such a server runs.
"""

import textwrap

import pytest

pytest_plugins = ["pytester"]

CONFTEST = """
import pytest

pytest_plugins = ["tests.harness.groups"]

@pytest.fixture(scope="session")
def killable_plane(): return 1

@pytest.fixture(scope="session")
def killable_kafkas(): return 1

@pytest.fixture(scope="session")
def control_plane(): return 1

@pytest.fixture(scope="session")
def kafka(): return 1

@pytest.fixture(scope="session")
def secure_kafka():
    yield 1
    print("STOPPED secure_kafka")

@pytest.fixture(autouse=True)
def used(request):
    yield
    print("END", request.node.name)

def pytest_collection_finish(session):
    for item in session.items:
        groups = [mark.args[0] for mark in item.iter_markers("xdist_group")]
        print("GROUP", item.name, *groups)
"""


def groups(pytester: pytest.Pytester, **modules: str) -> list[list[str]]:
    """Name and group of each test, in the order in which they run."""
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(**{name: textwrap.dedent(text) for name, text in modules.items()})
    lines = pytester.runpytest_subprocess("--collect-only", "-q").outlines
    return [line.split()[1:] for line in lines if line.startswith("GROUP")]


def test_tests_that_want_a_special_server_are_a_group_and_come_first(pytester: pytest.Pytester) -> None:
    formed = groups(
        pytester,
        test_a="def test_alone(): pass\ndef test_secure(secure_kafka): pass",
        test_b="""
            import pytest
            @pytest.fixture
            def plane(killable_plane): return killable_plane
            def test_by_a_fixture(plane): pass
            def test_three(killable_kafkas): pass
        """,
    )
    assert formed == [
        ["test_by_a_fixture", "killable"],
        ["test_three", "killable"],
        ["test_secure", "audited"],
        ["test_alone"],
    ]


def test_the_tests_of_a_module_with_a_fixture_of_its_own_are_a_group(pytester: pytest.Pytester) -> None:
    formed = groups(
        pytester,
        test_a="def test_alone(): pass",
        test_b="""
            import pytest
            @pytest.fixture(scope="module")
            def page(): return 1
            def test_with(page): pass
            def test_without(): pass
        """,
    )
    assert formed == [["test_with", "test_b"], ["test_without", "test_b"], ["test_alone"]]


def test_which_shared_servers_a_group_or_a_test_wants_stands_behind_it(pytester: pytest.Pytester) -> None:
    module = """
        def test_a(kafka, control_plane): pass
        def test_b(killable_plane): pass
        def test_c(killable_plane, control_plane): pass
    """
    assert groups(pytester, test_a=module) == [
        ["test_b", "killable+control_plane"],
        ["test_c", "killable+control_plane"],
        ["test_a", "+control_plane+kafka"],
    ]


def test_the_tests_of_a_group_run_in_one_process(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(
        """
        import pytest
        @pytest.mark.parametrize("number", range(10))
        def test_secure(secure_kafka, number): pass
        """
    )
    result = pytester.runpytest_subprocess("-n", "2", "--dist", "loadgroup", "-v")
    passed = [line for line in result.outlines if "PASSED" in line]
    assert len(passed) == 10
    assert all("@audited" in line for line in passed)
    assert len({line.split("]")[0] for line in passed}) == 1


def test_a_test_of_two_groups_is_refused_with_its_name(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile("def test_both(killable_plane, secure_kafka): pass")
    result = pytester.runpytest_subprocess("--collect-only")
    result.stdout.fnmatch_lines(["*test_both wants servers of several groups: audited, killable*"])


def test_of_a_group_the_tests_that_want_another_server_besides_come_last(pytester: pytest.Pytester) -> None:
    module = "def test_both(killable_kafkas, killable_plane): pass\ndef test_plane(killable_plane): pass"
    assert groups(pytester, test_a=module) == [["test_both", "killable"], ["test_plane", "killable"]][::-1]


@pytest.mark.parametrize(
    "options", [(), ("-n", "1", "--dist", "loadgroup", "-v")], ids=["alone", "shared out"]
)
def test_a_server_is_stopped_after_the_last_test_that_wants_it(
    options: tuple[str, ...], pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(
        conftest=CONFTEST.replace("print(", "said(")
        + "\ndef said(*words):\n    open('said', 'a').write(' '.join(words) + '\\n')\n",
        test_a="""
            def test_one(secure_kafka): pass
            def test_two(secure_kafka): pass
            def test_three(secure_kafka): pass
            def test_alone(): pass
        """,
    )
    assert pytester.runpytest_subprocess(*options, "-k", "not three").ret == 0
    said = [
        line for line in (pytester.path / "said").read_text().splitlines() if not line.startswith("GROUP")
    ]
    assert said == ["END test_one", "END test_two", "STOPPED secure_kafka", "END test_alone"]


def test_a_server_that_cannot_be_stopped_is_an_error_of_its_last_test(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST.replace('print("STOPPED secure_kafka")', 'raise OSError("it hangs")'))
    pytester.makepyfile("def test_one(secure_kafka): pass\ndef test_alone(): pass")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*ERROR at teardown of test_one*", "*OSError: it hangs*"])
