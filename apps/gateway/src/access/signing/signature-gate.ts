import { Readable } from 'node:stream';
import { Inject, Injectable, type RawBodyRequest } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { statusOf } from '#http';
import { Problem } from '#problems';
import { systemClock, type Clock } from '#runtime';
import { Refusals } from '../../audit/refusals.js';
import { originOf } from '../limits/address-gate.js';
import type { AuthenticatedClient } from '../../http/current-client.js';
import type { GatewaySettings } from '../../settings.js';
import { SETTINGS_TOKEN } from '../../tokens.js';
import { ClockDrift } from './clock-drift-metric.js';
import { digestChecked } from './content-digest.js';
import { readSignature } from './read-signature.js';
import { signatureProblem } from './signature-problems.js';
import { normalizeAuthority, signedRequest, type SignedRequest } from './signed-request.js';
import { SigningKeys, type ClientSigning } from './signing-keys.js';
import { UsedNonces } from './used-nonces.js';
import { verifySignature } from './verify-signature.js';

const READS = new Set(['GET', 'HEAD', 'OPTIONS']);
const NO_BODY = Buffer.alloc(0);

/** Lets a request of an authenticated client pass when its signing policy is met (docs/signing.md). */
@Injectable()
export class SignatureGate {
  private readonly publicHosts: ReadonlySet<string>;
  private readonly clock: Clock = systemClock;

  constructor(
    private readonly signingKeys: SigningKeys,
    private readonly nonces: UsedNonces,
    private readonly refusals: Refusals,
    private readonly drift: ClockDrift,
    @Inject(SETTINGS_TOKEN) { PUBLIC_HOSTS, PUBLIC_URL }: Pick<GatewaySettings, 'PUBLIC_HOSTS' | 'PUBLIC_URL'>,
  ) {
    const hosts = PUBLIC_HOSTS.length > 0 ? PUBLIC_HOSTS : [new URL(PUBLIC_URL).host];
    this.publicHosts = new Set(hosts.map(normalizeAuthority));
  }

  /**
   * Where nothing has to be signed, a signature that is there must be right all the same, unless the policy says `off` or
   * the client never had a key.
   * @throws Problem 401: signature_missing, signature_invalid, signature_expired, digest_mismatch, component_missing,
   *   nonce_replayed; 503 when the database cannot be asked
   */
  async check(request: FastifyRequest, client: Pick<AuthenticatedClient, 'clientId' | 'merchantId'>): Promise<void> {
    const signing = await this.signingKeys.of(client.clientId);
    if (!isInForce(signing)) return;
    try {
      await this.checkAgainst(signing, request);
    } catch (error) {
      if (error instanceof Problem && statusOf(error) === 401) await this.record(client, request, error);
      throw error;
    }
  }

  /** A good token with a bad signature: a stolen token looks like this. */
  private record(
    { clientId, merchantId }: Pick<AuthenticatedClient, 'clientId' | 'merchantId'>,
    request: FastifyRequest,
    { code }: Problem,
  ): Promise<void> {
    const details = { route: `${request.method} ${request.routeOptions.url ?? ''}` };
    const refusal = { clientId, merchantId, action: 'client.refuse_signature', reason: code, details };
    return this.refusals.record({ ...refusal, ...originOf(request) }, 'one');
  }

  private async checkAgainst(signing: ClientSigning, request: FastifyRequest): Promise<void> {
    const signed = signedRequestOf(request);
    if (!isRequired(signing, request.method) && readSignature(signed).kind === 'none') return;
    const body = bodyOf(request);
    const { keys } = signing;
    const { publicHosts } = this;
    const verdict = await verifySignature(signed, { body, keys, publicHosts, now: this.clock.now() });
    const { aheadSeconds } = verdict;
    if (verdict.kind === 'refused') {
      if (aheadSeconds !== undefined) this.drift.observe(aheadSeconds, 'refused');
      throw signatureProblem(verdict.code, verdict.detail);
    }
    // Last of all: a nonce is used up only by a signature that is good in every other respect.
    if (!(await this.nonces.use(verdict.keyId, verdict.nonce))) {
      throw signatureProblem('nonce_replayed', 'This signature was used before. Sign each request anew, repeats too.');
    }
    this.drift.observe(verdict.aheadSeconds, 'accepted');
    if (body === 'unread') checkWhileRead(request, signed.fields.get('content-digest') ?? '');
  }
}

/** A client that once had a key and lost all of them is shut out of writing, not freed from signing. */
function isInForce({ policy, everHadKey }: ClientSigning): boolean {
  return policy === 'writes' || policy === 'all' || (policy === 'auto' && everHadKey);
}

function isRequired({ policy }: ClientSigning, method: string): boolean {
  return policy === 'all' || !READS.has(method);
}

function signedRequestOf({ raw }: FastifyRequest): SignedRequest {
  return signedRequest(raw.method ?? '', raw.url ?? '', raw.rawHeaders);
}

/** The body's bytes; `unread` when its handler takes it as a stream. */
function bodyOf(request: RawBodyRequest<FastifyRequest>): Buffer | 'unread' {
  if (request.rawBody) return request.rawBody;
  if (request.body instanceof Readable) return 'unread';
  // A body that was parsed without keeping its bytes could not be checked: a mistake of ours, closed.
  if (request.body !== undefined && request.body !== null) throw new Error(`${request.url} keeps no raw body`);
  return NO_BODY;
}

/** The handler gets a stream that fails at its end when the body was not the one that was signed. */
function checkWhileRead(request: FastifyRequest, digest: string): void {
  if (!(request.body instanceof Readable)) return;
  request.body = digestChecked(request.body, digest, (detail) => signatureProblem('digest_mismatch', detail));
}
