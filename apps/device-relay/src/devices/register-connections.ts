import { createHash } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import { apiKeyOwner } from '#database';
import type { LocalBranch, LocalBusiness } from '#fiscal-domain';
import { LocalApiClient } from '#local-api';
import { open, type CidrSet, type Keyring } from '#runtime';
import type { CallAnswer, LaneDevice, PreparedReceipt, Register, Registers } from '../lanes/ports.js';

/** Connections kept open at the same time; an idle device's is made anew when it sells again. */
const MAX_CONNECTIONS = 2_000;

interface Connection {
  fingerprint: string;
  register: AllowedRegister;
}

/** One client of the local API per device, kept while its address, key and deadline stay the same. */
export class RegisterConnections implements Registers {
  private readonly connections = new LRUCache<string, Connection>({
    max: MAX_CONNECTIONS,
    dispose: ({ register }) => register.close(),
  });

  constructor(
    private readonly keyring: Keyring,
    private readonly allowed: CidrSet,
  ) {}

  of(device: LaneDevice): AllowedRegister {
    if (device.baseUrl === null)
      throw new Error(`Device ${device.id} is reached by its link, which this relay does not serve.`);
    const fingerprint = fingerprintOf(device);
    const known = this.connections.get(device.id);
    if (known?.fingerprint === fingerprint) return known.register;
    const { sendTimeoutMs, callTimeoutMs } = device.profile;
    const apiKey = open(device.apiKeySealed, apiKeyOwner(device.id), this.keyring);
    const client = new LocalApiClient({ baseUrl: device.baseUrl, apiKey, timeoutMs: sendTimeoutMs, callTimeoutMs });
    const register = new AllowedRegister(client, new URL(device.baseUrl).hostname, this.allowed);
    this.connections.set(device.id, { fingerprint, register });
    return register;
  }

  close(): void {
    this.connections.clear();
  }
}

/** Calls only addresses inside DEVICE_ALLOWED_CIDRS; asked anew at every call, because names move. */
class AllowedRegister implements Register {
  constructor(
    private readonly client: LocalApiClient,
    private readonly hostname: string,
    private readonly allowed: CidrSet,
  ) {}

  status(): ReturnType<Register['status']> {
    return this.guarded(() => this.client.status());
  }

  fmInfo(): ReturnType<Register['fmInfo']> {
    return this.guarded(() => this.client.fmInfo());
  }

  business(): Promise<CallAnswer<LocalBusiness>> {
    return this.guarded(() => this.client.business());
  }

  branch(): Promise<CallAnswer<LocalBranch>> {
    return this.guarded(() => this.client.branch());
  }

  openShift(): ReturnType<Register['openShift']> {
    return this.guarded(() => this.client.openShift());
  }

  closeShift(): ReturnType<Register['closeShift']> {
    return this.guarded(() => this.client.closeShift());
  }

  currentZReport(): ReturnType<Register['currentZReport']> {
    return this.guarded(() => this.client.currentZReport());
  }

  zReportStats(): ReturnType<Register['zReportStats']> {
    return this.guarded(() => this.client.zReportStats());
  }

  sendUnsentReceipts(): ReturnType<Register['sendUnsentReceipts']> {
    return this.guarded(() => this.client.sendUnsentReceipts());
  }

  sendUnsentZReports(): ReturnType<Register['sendUnsentZReports']> {
    return this.guarded(() => this.client.sendUnsentZReports());
  }

  async prepareReceipt(body: Buffer, idempotencyKey: string): Promise<PreparedReceipt> {
    const reason = await this.forbiddenReason();
    return reason ? { kind: 'not_sent', reason } : this.client.prepareReceipt(body, idempotencyKey);
  }

  close(): void {
    this.client.close();
  }

  private async guarded<T>(call: () => Promise<CallAnswer<T>>): Promise<CallAnswer<T>> {
    const reason = await this.forbiddenReason();
    return reason ? { kind: 'unreachable', reason } : call();
  }

  private async forbiddenReason(): Promise<string | null> {
    const bare = this.hostname.replace(/^\[|\]$/g, '');
    if (isIP(bare)) return this.allowed.contains(bare) ? null : 'the address is outside DEVICE_ALLOWED_CIDRS';
    try {
      const addresses = await lookup(bare, { all: true });
      return addresses.every(({ address }) => this.allowed.contains(address))
        ? null
        : 'the name leads outside DEVICE_ALLOWED_CIDRS';
    } catch {
      // A name that does not resolve is an unreachable device, nothing more.
      return 'the name does not resolve';
    }
  }
}

function fingerprintOf(device: LaneDevice): string {
  const { sendTimeoutMs, callTimeoutMs } = device.profile;
  return createHash('sha256')
    .update(JSON.stringify([device.baseUrl, sendTimeoutMs, callTimeoutMs]))
    .update(device.apiKeySealed)
    .digest('base64');
}
