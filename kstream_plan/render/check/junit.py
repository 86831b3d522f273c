"""What a check found, as JUnit's XML: one suite per plan, one case per rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from kstream_plan.model.answer import Answer
from kstream_plan.policy.findings import CheckedPlan, Finding, Status, Tally
from kstream_plan.render.check.wording import figures, sentence
from kstream_plan.render.text.escape import printable
from kstream_plan.render.text.names import Names


def report_of(plans: Iterable[Element], tally: Tally) -> str:
    """Return the document; a warning fails its case only where warnings fail the check.

    A case is skipped for a waiver, and where the rule does not apply; each caveat is one more that is skipped.
    """
    root = Element("testsuites", name="kstream-plan check")
    root.extend(plans)
    for application_id, message in tally.errors:
        name = printable(application_id or "input")
        suite = ElementTree.SubElement(root, "testsuite", name=name, tests="1", failures="0", errors="1", skipped="0")
        case = ElementTree.SubElement(suite, "testcase", classname=name, name="plan")
        ElementTree.SubElement(case, "error", message=printable(message))
    ElementTree.indent(root)
    body = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def part_of(checkup: CheckedPlan, warnings_too: bool) -> Element:
    """Return what is said of one plan."""
    suite = Element("testsuite", name=printable(checkup.application_id))
    names = Names(checkup.plan.group)
    results = Counter(_case(suite, finding, checkup, names, warnings_too) for finding in checkup.findings)
    for caveat in checkup.caveats:
        name = printable(checkup.application_id)
        case = ElementTree.SubElement(suite, "testcase", classname=name, name=f"caveat: {caveat.code}")
        ElementTree.SubElement(case, "skipped", message=printable(caveat.message))
        results["skipped"] += 1
    suite.set("tests", str(results.total()))
    suite.set("failures", str(results["failure"]))
    suite.set("errors", "0")
    suite.set("skipped", str(results["skipped"]))
    ElementTree.SubElement(suite, "system-out").text = printable(figures(checkup.plan, checkup.draws))
    return suite


def _case(suite: Element, finding: Finding, checkup: CheckedPlan, names: Names, fail_on_warning: bool) -> str:
    case = ElementTree.SubElement(suite, "testcase", classname=printable(finding.application_id), name=finding.rule)
    message = printable(sentence(finding, checkup.plan, names))
    status = finding.status
    if status is Status.ERROR or (status is Status.WARNING and fail_on_warning):
        failure = ElementTree.SubElement(
            case, "failure", message=message, type="unknown" if finding.answer is Answer.UNKNOWN else status.value
        )
        failure.text = message
        return "failure"
    if status in (Status.WAIVED, Status.NOT_APPLICABLE):
        ElementTree.SubElement(case, "skipped", message=message)
        return "skipped"
    word = "warning: " if status is Status.WARNING else ""
    ElementTree.SubElement(case, "system-out").text = f"{word}{message}"
    return "passed"
