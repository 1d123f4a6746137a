import type { Prisma } from '#database';

/**
 * Who holds which role in a place stays as it is until the transaction ends: roles are taken away, given, and passed on by an invitation
 * one after the other.
 * @param place a merchant's id, or the platform
 */
export async function lockMemberships(tx: Prisma.TransactionClient, place: string): Promise<void> {
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${`memberships ${place}`}, 0))`;
}
