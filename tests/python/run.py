"""Runs the tests of the binding and prints one line of counts. run.py quick|long [BUILD]: long runs the tests that repeat
things thousands of times (test_long.py)."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


class Result(unittest.TextTestResult):
    """Counts what passed; prints each reason for skipping once."""

    passed = 0
    reasons: set = set()

    def addSuccess(self, test):
        self.passed += 1

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        if reason not in self.reasons:
            self.reasons.add(reason)
            print(f"skipped: {reason}")


def main():
    part = sys.argv[1] if len(sys.argv) > 1 else "quick"
    if len(sys.argv) > 2:
        os.environ["BUILD_OF_UNROLL"] = sys.argv[2]
    sys.path.insert(0, HERE)
    names = sorted(name[:-3] for name in os.listdir(HERE) if name.startswith("test_") and name.endswith(".py"))
    chosen = [name for name in names if (name == "test_long") == (part == "long")]
    suite = unittest.defaultTestLoader.loadTestsFromNames(chosen)
    result = unittest.TextTestRunner(stream=sys.stdout, resultclass=Result, verbosity=0).run(suite)
    failed = len(result.failures) + len(result.errors)
    for test, _ in result.failures + result.errors:
        print(f"FAILED {test}")
    print(f"python: {result.passed} passed, {failed} failed, {len(result.skipped)} skipped")
    return 1 if failed or not result.passed else 0


if __name__ == "__main__":
    sys.exit(main())
