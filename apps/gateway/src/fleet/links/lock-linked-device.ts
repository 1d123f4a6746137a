import type { Prisma } from '#database';
import { Problem } from '#problems';

/**
 * Holds the device's row, so that an enrolment under way at a relay stands wholly before or after this change.
 * @throws Problem 404: missing, deleted or another merchant's; 409 device_not_linked
 */
export async function lockLinkedDevice(
  tx: Prisma.TransactionClient,
  merchantId: string,
  deviceId: string,
): Promise<void> {
  const [device] = await tx.$queryRaw<{ transport: string }[]>`
    SELECT transport::text FROM devices
     WHERE id = ${deviceId} AND merchant_id = ${merchantId} AND deleted_at IS NULL FOR NO KEY UPDATE`;
  if (!device) throw new Problem('not_found', 'There is no device with this id.');
  if (device.transport !== 'link') {
    throw new Problem(
      'device_not_linked',
      'The device is called at its address; only one with transport "link" dials in.',
    );
  }
}
