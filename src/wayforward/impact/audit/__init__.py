"""An audit: who has recourse, what it costs each group, how sure the numbers are, and one page that says so."""

from typing import TYPE_CHECKING

from wayforward.lazy import face

_HOME = {
    "Agreement": "agreement",
    "AttributeAudit": "result",
    "Audit": "result",
    "GroupFigures": "figures",
    "Simpson": "strata",
    "audit": "run",
    "both_ways": "robustness",
    "report": "page",
}

__all__ = ["Agreement", "AttributeAudit", "Audit", "GroupFigures", "Simpson", "audit", "both_ways", "report"]

__getattr__ = face(__name__, _HOME)

if TYPE_CHECKING:
    from wayforward.impact.audit.agreement import Agreement
    from wayforward.impact.audit.figures import GroupFigures
    from wayforward.impact.audit.page import report
    from wayforward.impact.audit.result import AttributeAudit, Audit
    from wayforward.impact.audit.robustness import both_ways
    from wayforward.impact.audit.run import audit
    from wayforward.impact.audit.strata import Simpson
