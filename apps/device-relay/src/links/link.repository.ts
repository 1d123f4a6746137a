import type { Prisma, PrismaService } from '#database';
import { LINK_CHANGED_CHANNEL } from '#database';
import { decodePublicKey, hashEnrolmentCode, type Hello, type LinkRefusal } from '#link';
import { wakeWaitingLane } from '#ledger';
import { newId } from '#runtime';
import { isWeakEd25519 } from '#secrets';

/** The relay process that holds links, as other relays find it. */
export interface LinkHost {
  relayId: string;
  /** Where other relays hand calls in. */
  relayUrl: string;
}

export type Admission =
  | { kind: 'admitted'; epoch: bigint; linkKeyId: string; enrolled: boolean; tookOverFrom: string | null }
  | { kind: 'refused'; reason: LinkRefusal };

export interface LinkHolder extends LinkHost {
  epoch: bigint;
  /** The key with which the register proved itself; null: admitted by a relay of an earlier version. */
  linkKeyId: string | null;
}

interface DeviceRow {
  state: string;
  transport: string;
  deleted_at: Date | null;
}

/** Of the key that was shown, and of the code. */
interface Standing {
  /** The register that left the key; null: none has. */
  key_of: string | null;
  revoked_at: Date | null;
  is_code_good: boolean;
}

const TRANSACTION = { timeout: 10_000, isolationLevel: 'ReadCommitted' } as const;

/** Keys, codes and presence of links. Who holds a link is decided here, by the epoch, and nowhere else. */
export class LinkRepository {
  constructor(
    private readonly prisma: PrismaService,
    readonly host: LinkHost,
  ) {}

  /**
   * Judges a register whose proof was right, and makes this relay the holder of its link: one transaction, in the order of
   * the device's row, so that a revocation stands before or after it and never between.
   */
  async admit(hello: Hello): Promise<Admission> {
    const publicKey = decodePublicKey(hello);
    // A point of small order proves no possession of a private key.
    if (!publicKey || isWeakEd25519(publicKey)) return { kind: 'refused', reason: 'signature_wrong' };
    // What is refused here has locked nothing: an id is known to many, and a lock on its row holds up what others write there.
    const refusal = await this.refusalOf(hello, publicKey);
    if (refusal) return refused(refusal);
    return this.prisma.$transaction(async (tx) => {
      const [device] = await tx.$queryRaw<DeviceRow[]>`
        SELECT state::text, transport::text, deleted_at FROM devices WHERE id = ${hello.deviceId} FOR NO KEY UPDATE`;
      const closed = refusalOfDevice(device);
      if (closed) return refused(closed);
      const key = await this.keyOf(tx, hello, publicKey);
      if (typeof key === 'string') return refused(key);
      const presence = await this.takeOver(tx, hello.deviceId, key.linkKeyId);
      return { kind: 'admitted', ...key, ...presence };
    }, TRANSACTION);
  }

  /** Null: no relay holds the link, as far as the database knows. */
  async holderOf(deviceId: string): Promise<LinkHolder | null> {
    const [row] = await this.prisma.$queryRaw<
      { relay_id: string; relay_url: string; epoch: bigint; link_key_id: string | null }[]
    >`
      SELECT relay_id, relay_url, epoch, link_key_id FROM link_presences
       WHERE device_id = ${deviceId} AND disconnected_at IS NULL`;
    if (!row) return null;
    return { relayId: row.relay_id, relayUrl: row.relay_url, epoch: row.epoch, linkKeyId: row.link_key_id };
  }

  /** Of these links held here: which ones must end, and why. */
  async findEnded(
    links: readonly { deviceId: string; epoch: bigint }[],
  ): Promise<{ deviceId: string; epoch: bigint; reason: 'superseded' | 'revoked' }[]> {
    if (links.length === 0) return [];
    const rows = await this.prisma.$queryRaw<{ device_id: string; epoch: bigint; superseded: boolean }[]>`
      SELECT held.device_id, held.epoch,
             (p.epoch IS DISTINCT FROM held.epoch OR p.relay_id <> ${this.host.relayId}) AS superseded
        FROM unnest(${links.map(({ deviceId }) => deviceId)}::text[], ${links.map(({ epoch }) => epoch)}::int8[])
             AS held(device_id, epoch)
        LEFT JOIN link_presences p ON p.device_id = held.device_id
        LEFT JOIN devices d ON d.id = held.device_id
       WHERE p.epoch IS DISTINCT FROM held.epoch OR p.relay_id <> ${this.host.relayId}
          OR d.id IS NULL OR d.deleted_at IS NOT NULL OR d.state = 'disabled' OR d.transport <> 'link'
          OR NOT EXISTS (SELECT 1 FROM link_keys k WHERE k.device_id = held.device_id AND k.revoked_at IS NULL)`;
    return rows.map(({ device_id: deviceId, epoch, superseded }) => ({
      ...{ deviceId, epoch },
      reason: superseded ? 'superseded' : 'revoked',
    }));
  }

  /** The link has ended; does nothing when another relay holds it by now. */
  async leave(deviceId: string, epoch: bigint): Promise<void> {
    await this.prisma.$executeRaw`
      UPDATE link_presences SET disconnected_at = now()
       WHERE device_id = ${deviceId} AND epoch = ${epoch} AND relay_id = ${this.host.relayId}`;
  }

  /** This process stops: whatever it held is free. */
  async leaveAll(): Promise<void> {
    await this.prisma.$executeRaw`
      UPDATE link_presences SET disconnected_at = now()
       WHERE relay_id = ${this.host.relayId} AND disconnected_at IS NULL`;
  }

  /** Notifies the relay that held the link before. Lost: its own silence cuts that link, nothing goes over it meanwhile. */
  async notifyChanged(deviceId: string): Promise<void> {
    await this.prisma.$executeRaw`SELECT pg_notify(${LINK_CHANGED_CHANNEL}, ${deviceId})`;
  }

  /** A lane that waits because its register was away is due now; a settle time keeps running. */
  async wakeLane(deviceId: string): Promise<boolean> {
    return wakeWaitingLane(this.prisma, deviceId);
  }

  /** What can be said without a lock; null: it has a key in force, or a code that is good, and is judged under the lock. */
  private async refusalOf({ deviceId, code }: Hello, publicKey: Buffer): Promise<LinkRefusal | null> {
    const codeHash = code === undefined ? null : hashEnrolmentCode(code);
    const [row] = await this.prisma.$queryRaw<(DeviceRow & Standing)[]>`
      SELECT d.state::text, d.transport::text, d.deleted_at, k.device_id AS key_of, k.revoked_at,
             EXISTS (SELECT FROM link_enrolments e WHERE e.code_hash = ${codeHash} AND e.device_id = d.id
                        AND e.used_at IS NULL AND e.expires_at > now()) AS is_code_good
        FROM devices d LEFT JOIN link_keys k ON k.public_key = ${publicKey}
       WHERE d.id = ${deviceId}`;
    const closed = refusalOfDevice(row);
    if (!row || closed) return closed;
    const isKnown = row.key_of === deviceId;
    if (isKnown && row.revoked_at === null) return null;
    if (codeHash === null) return isKnown ? 'key_revoked' : 'key_unknown';
    if (row.key_of !== null) return 'key_taken';
    return row.is_code_good ? null : this.refusalOfCode(this.prisma, codeHash, deviceId);
  }

  /** The key of this register: known and in force, or left now with a code. */
  private async keyOf(
    tx: Prisma.TransactionClient,
    { deviceId, code }: Hello,
    publicKey: Buffer,
  ): Promise<{ linkKeyId: string; enrolled: boolean } | LinkRefusal> {
    const [key] = await tx.$queryRaw<{ id: string; revoked: boolean }[]>`
      SELECT id, revoked_at IS NOT NULL AS revoked FROM link_keys
       WHERE public_key = ${publicKey} AND device_id = ${deviceId}`;
    if (key?.revoked === false) return { linkKeyId: key.id, enrolled: false };
    if (code === undefined) return key ? 'key_revoked' : 'key_unknown';
    const enrolled = await this.enrol(tx, code, { deviceId, publicKey });
    return typeof enrolled === 'string' ? enrolled : { ...enrolled, enrolled: true };
  }

  /** Takes the code and leaves the key in place of the one before, and the API key that was entered for it. */
  private async enrol(
    tx: Prisma.TransactionClient,
    code: string,
    { deviceId, publicKey }: { deviceId: string; publicKey: Buffer },
  ): Promise<{ linkKeyId: string } | LinkRefusal> {
    const [taken] = await tx.$queryRaw<{ id: string }[]>`SELECT id FROM link_keys WHERE public_key = ${publicKey}`;
    if (taken) return 'key_taken';
    const codeHash = hashEnrolmentCode(code);
    // Of two at the same moment the second waits for the first one's row, and finds it used.
    const used = await tx.$executeRaw`
      UPDATE link_enrolments SET used_at = now()
       WHERE code_hash = ${codeHash} AND device_id = ${deviceId} AND used_at IS NULL AND expires_at > now()`;
    if (used === 0) return this.refusalOfCode(tx, codeHash, deviceId);
    const linkKeyId = newId('lky');
    await tx.$executeRaw`
      UPDATE devices d SET api_key_sealed = e.api_key_sealed
        FROM link_enrolments e
       WHERE e.code_hash = ${codeHash} AND e.api_key_sealed IS NOT NULL AND d.id = ${deviceId}`;
    await tx.$executeRaw`UPDATE link_enrolments SET api_key_sealed = NULL WHERE code_hash = ${codeHash}`;
    await tx.$executeRaw`UPDATE link_keys SET revoked_at = now() WHERE device_id = ${deviceId} AND revoked_at IS NULL`;
    await tx.$executeRaw`
      INSERT INTO link_keys (id, device_id, public_key) VALUES (${linkKeyId}, ${deviceId}, ${publicKey})`;
    return { linkKeyId };
  }

  /** A code of another register is answered like one that never was. */
  private async refusalOfCode(
    tx: Pick<PrismaService, '$queryRaw'>,
    codeHash: Buffer,
    deviceId: string,
  ): Promise<LinkRefusal> {
    const [known] = await tx.$queryRaw<{ used: boolean }[]>`
      SELECT used_at IS NOT NULL AS used FROM link_enrolments
       WHERE code_hash = ${codeHash} AND device_id = ${deviceId}`;
    if (!known) return 'code_unknown';
    return known.used ? 'code_used' : 'code_expired';
  }

  private async takeOver(
    tx: Prisma.TransactionClient,
    deviceId: string,
    linkKeyId: string,
  ): Promise<{ epoch: bigint; tookOverFrom: string | null }> {
    const { relayId, relayUrl } = this.host;
    // The device's row is locked: no other session writes this one.
    const [before] = await tx.$queryRaw<{ relay_id: string }[]>`
      SELECT relay_id FROM link_presences WHERE device_id = ${deviceId} AND disconnected_at IS NULL`;
    const [row] = await tx.$queryRaw<{ epoch: bigint }[]>`
      INSERT INTO link_presences AS p (device_id, relay_id, relay_url, link_key_id, epoch)
      VALUES (${deviceId}, ${relayId}, ${relayUrl}, ${linkKeyId}, 1)
      ON CONFLICT (device_id) DO UPDATE
        SET relay_id = excluded.relay_id, relay_url = excluded.relay_url, link_key_id = excluded.link_key_id,
            epoch = p.epoch + 1, connected_at = now(), seen_at = now(), disconnected_at = NULL
      RETURNING epoch`;
    if (!row) throw new Error(`no presence for ${deviceId}`);
    return { epoch: row.epoch, tookOverFrom: before && before.relay_id !== relayId ? before.relay_id : null };
  }
}

function refusalOfDevice(device: DeviceRow | undefined): LinkRefusal | null {
  if (!device || device.deleted_at || device.transport !== 'link') return 'device_unknown';
  return device.state === 'disabled' ? 'device_disabled' : null;
}

function refused(reason: LinkRefusal): { kind: 'refused'; reason: LinkRefusal } {
  return { kind: 'refused', reason };
}
