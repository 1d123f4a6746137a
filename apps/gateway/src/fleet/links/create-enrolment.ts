import { Inject, Injectable } from '@nestjs/common';
import { apiKeyOwner, type Prisma } from '#database';
import { hashEnrolmentCode, newEnrolmentCode } from '#link';
import { qrSvg } from '#paper';
import { Problem } from '#problems';
import { seal } from '#secrets';
import { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';
import type { GatewaySettings } from '../../settings.js';
import { SETTINGS_TOKEN } from '../../tokens.js';
import { lockLinkedDevice } from './lock-linked-device.js';

/** Long enough to walk to the shop's register, short enough that a note left lying about opens nothing. */
const VALID_MINUTES = 60;

/** Shown once: only its hash is kept. */
export interface EnrolmentView {
  code: string;
  expires_at: string;
  /** What the register dials: LINK_URL. */
  link_url: string;
  /** Address and code in one, for a register that reads it with its camera: SVG of a QR code. */
  qr_svg: string;
}

/**
 * POST /v1/devices/{id}/enrolments: a one-time code with which a register leaves its public key. A newer code replaces one
 * that was not used, so that a device has at most one. The key in force keeps working until the code is used.
 */
@Injectable()
export class CreateEnrolment {
  constructor(
    private readonly changes: AuditedChange,
    @Inject(SETTINGS_TOKEN) private readonly settings: GatewaySettings,
  ) {}

  /**
   * @param apiKey the register's, for the link that the code makes. Left out: the device's own, which was entered for its
   *   first link; another register would be given a key that was not entered for it.
   * @throws Problem 404; 409 device_not_linked; 422 secret_required once the device has been enrolled
   */
  async execute(caller: Caller, deviceId: string, apiKey: string | undefined): Promise<EnrolmentView> {
    const code = newEnrolmentCode();
    const apiKeySealed = apiKey === undefined ? null : seal(apiKey, apiKeyOwner(deviceId), this.settings.SECRETS_KEY);
    const expiresAt = await this.changes.execute(caller, async (tx) => {
      await lockLinkedDevice(tx, caller.merchantId, deviceId);
      if (apiKeySealed === null) await refuseKeptKey(tx, deviceId);
      const replaced = await tx.$executeRaw`
        DELETE FROM link_enrolments WHERE device_id = ${deviceId} AND used_at IS NULL`;
      const [row] = await tx.$queryRaw<{ expires_at: Date }[]>`
        INSERT INTO link_enrolments (code_hash, device_id, api_key_sealed, expires_at)
        VALUES (${hashEnrolmentCode(code)}, ${deviceId}, ${apiKeySealed}::bytea,
                now() + make_interval(mins => ${VALID_MINUTES}::int4))
        RETURNING expires_at`;
      if (!row) throw new Error('the code was not written');
      const result = row.expires_at.toISOString();
      const before = { open_codes: replaced };
      return {
        result,
        action: 'device.link_enrol',
        targetId: deviceId,
        before,
        after: { expires_at: result, ...(apiKeySealed && { api_key: 'changed with the code' }) },
      };
    });
    const url = new URL(this.settings.LINK_PUBLIC_URL);
    url.searchParams.set('device', deviceId);
    // In the fragment: no server that is asked for the address sees the code.
    return { code, expires_at: expiresAt, link_url: url.href, qr_svg: qrSvg(`${url.href}#code=${code}`, 'QR') };
  }
}

/** A new code lets another register dial in: it is another address. @throws Problem 422 secret_required */
async function refuseKeptKey(tx: Prisma.TransactionClient, deviceId: string): Promise<void> {
  const [known] = await tx.$queryRaw<unknown[]>`SELECT 1 FROM link_keys WHERE device_id = ${deviceId} LIMIT 1`;
  if (!known) return;
  const detail = 'the device was enrolled before: a new code needs the api_key again, in the same call';
  throw Problem.at('/api_key', 'secret_required', detail);
}
