import { isUniqueViolation } from '#database';
import { Problem } from '#problems';

/** Codes are unique per merchant, also among archived ones: old receipts still refer to them. */
export async function refuseTakenCode<T>(change: Promise<T>): Promise<T> {
  try {
    return await change;
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    const detail = 'Another one has this code already, perhaps an archived one.';
    throw new Problem('code_taken', detail, {
      errors: [{ pointer: '/code', code: 'code_taken', detail }],
      cause: error,
    });
  }
}

export function refuseArchived(row: { archivedAt: Date | null }): void {
  if (row.archivedAt !== null) throw new Problem('archived', 'It is archived; restore it first.');
}
