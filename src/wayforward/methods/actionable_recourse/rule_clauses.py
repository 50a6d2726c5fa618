"""The schema's rules as clauses of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wayforward.methods.engines.exact.selection import Among, ChangedTo, Clause, Most

if TYPE_CHECKING:
    from wayforward.problem import Population
    from wayforward.rules.normal_form import NormalForm


class RuleClauses:
    """The schema's conditions as clauses for one person; those that have no normal form are cut off when broken."""

    def __init__(self, people: Population) -> None:
        schema = people.schema
        self.people = people
        self.involved = np.zeros((0, people.d), dtype=bool)
        self.forms: list[NormalForm | None] = []
        if schema.rules:
            rules = schema.compiled_rules
            self.involved = rules.involved
            self.forms = list(rules.normal_form())
        self.odd = np.array([form is None for form in self.forms], dtype=bool)

    @property
    def ruled(self) -> np.ndarray:
        """Features (d,) that some rule reads, in a way that a move against the score could ever help to keep it."""
        reads = [row for row, form in zip(self.involved, self.forms, strict=True) if not _counts_only(form)]
        return np.any(reads, axis=0) if reads else np.zeros(self.people.d, dtype=bool)

    @property
    def tabled(self) -> np.ndarray:
        """Features (d,) that a rule without a normal form reads: tables, so that single values can be cut off."""
        return np.asarray(self.involved[self.odd].any(0))

    def clauses(self, i: int) -> tuple[Clause, ...]:
        """Return the clauses of person i, without those that hang on a missing value that the person may fill in."""
        from wayforward.rules import normal_form

        x, free = self.people.x[i], self.people.free[i]
        out: list[Clause] = []
        for form in self.forms:
            if form is None:
                continue
            for clause in form.clauses:
                atoms: list[Most | Among | ChangedTo] = []
                for atom in clause:
                    if isinstance(atom, normal_form.Moved):
                        atoms.append(ChangedTo(atom.index, atom.changed))
                    elif isinstance(atom, normal_form.Levels):
                        if atom.side == "after":
                            atoms.append(Among(atom.index, atom.allowed))
                        elif np.isnan(x[atom.index]) or int(x[atom.index]) in atom.allowed:
                            break  # true already
                    else:
                        if any(np.isnan(x[j]) for _, j, _ in atom.terms):
                            break  # unknown, hence not broken; filled in, the judge decides
                        most = atom.bound - sum(w * x[j] for side, j, w in atom.terms if side == "before")
                        values = tuple((j, w) for side, j, w in atom.terms if side == "after")
                        fixed = sum(w * x[j] for j, w in values if not free[j])
                        values = tuple((j, w) for j, w in values if free[j])
                        changes = tuple((j, w) for j, w in atom.changed if free[j])
                        atoms.append(Most(values, changes, float(most - fixed)))
                else:
                    out.append(tuple(atoms))
        return tuple(out)

    def broken(self, who: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Return (m, r) bool: which rules do not hold after people `who` did something."""
        if not len(self.forms):
            return np.zeros((len(who), 0), dtype=bool)
        return ~np.asarray(self.people.schema.compiled_rules.holds(self.people.x[who], after))


def _counts_only(form: NormalForm | None) -> bool:
    """True for a rule such as 'at most 3 changes', which fewer changes can only help."""
    from wayforward.rules.normal_form import Linear

    return form is not None and all(
        len(clause) == 1
        and isinstance(clause[0], Linear)
        and not clause[0].terms
        and all(weight > 0 for _, weight in clause[0].changed)
        for clause in form.clauses
    )
