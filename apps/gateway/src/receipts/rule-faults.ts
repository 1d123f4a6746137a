import type { RuleViolation, ShapeProblem } from '#fiscal-domain';
import type { ProblemError } from '#problems';

/** The local API's field names → ours; what is not here has the same name. */
const ITEM_FIELDS: Readonly<Record<string, string>> = {
  amount: 'qty',
  packageCode: 'package_code',
  vatPercent: 'vat_percent',
  label: 'labels',
};

/** A violation of the register's rules, in the terms and pointers of the cloud API. */
export function faultOfViolation(violation: RuleViolation): ProblemError {
  return {
    pointer: pointerOf(violation),
    code: violation.code,
    rule: violation.rule,
    detail: violation.message,
    facts: { ...violation.facts, ...(violation.itemIndex !== null && { line: violation.itemIndex + 1 }) },
  };
}

/** What the register would not even read: no E-code, so our own. */
export function faultOfShape(problem: ShapeProblem): ProblemError {
  return { pointer: pointerOf(problem), code: 'invalid_value', detail: problem.message };
}

function pointerOf({ itemIndex, field }: Pick<RuleViolation, 'itemIndex' | 'field'>): string {
  // Also when an item is the reason (E-003): it is the payment that must change.
  if (field.startsWith('received') || field === 'cash' || field === 'card') return '/payment';
  if (itemIndex !== null) {
    // `vat` is computed by the gateway: the caller can only mend the line that it belongs to.
    return field === 'vat' ? `/items/${itemIndex}` : `/items/${itemIndex}/${ITEM_FIELDS[field] ?? field}`;
  }
  return `/${field}`;
}
