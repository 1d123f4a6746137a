import { Injectable, type ExecutionContext, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { acrossMerchants, PrismaService, type Prisma } from '#database';
import { isId, storableJson, isObject } from '#fiscal-domain';
import { HttpProblem, refuseWrongBody } from '#http';
import { findSumOfAttempt } from '#ledger';
import { Problem } from '#problems';
import { canonicalJson, newId, redact, sha256 } from '#runtime';
import { AuditedChange } from '../../../audit/audited-change.js';
import { callerOfRequest } from '../../../audit/caller.js';
import type { KnownClient, Person } from '../../../http/current-client.js';
import { isRole, scopesOfRoles } from '../../../http/roles.js';
import { holdsScope, neededScopes, type FourEyesRule } from '../../../http/scopes.js';

const EXPIRES_AFTER_SECONDS = 86_400;
const MAX_PENDING = 100;
/** Where the request keeps what has let it pass. */
const APPROVAL = Symbol('approval that was used');

interface FourEyes {
  unknown_above?: number | null;
  provider_accounts?: boolean;
}

type Held = FastifyRequest & { [APPROVAL]?: string };

/**
 * Four eyes: where the merchant has set it, a request passes only when a second user has approved this very request, and passes
 * once. Nothing is carried out by the approval itself, so no secret of a request has to be kept until then.
 */
@Injectable()
export class FourEyesGate implements OnModuleInit {
  constructor(
    private readonly server: HttpAdapterHost,
    private readonly prisma: PrismaService,
    private readonly changes: AuditedChange,
  ) {}

  onModuleInit(): void {
    const fastify = this.server.httpAdapter.getInstance<FastifyInstance>();
    fastify.addHook('onResponse', async (request, reply) => {
      const id = (request as Held)[APPROVAL];
      if (id !== undefined && reply.statusCode >= 400) await this.giveBack(id);
    });
  }

  /** @throws Problem 409 approval_needed, in_use; 403 session_needed; 422 for a body that the handler refuses */
  async check(context: ExecutionContext, client: KnownClient): Promise<void> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const { fourEyes: rule } = request.routeOptions.config;
    if (rule === undefined || !(await this.applies(rule, request, client.merchantId))) return;
    if (!client.person)
      throw new Problem(
        'session_needed',
        'The merchant wants two users for this: a client of the API cannot ask for it.',
      );
    refuseWrongBody(context, request.body);
    const hash = sha256(
      canonicalJson([request.method, request.routeOptions.url, request.params, request.query, request.body ?? null]),
    );
    const approved = await this.take(client.merchantId, hash, client.person);
    if (approved === null) throw approvalNeeded(await this.ask(request, { hash, rule, client, person: client.person }));
    (request as Held)[APPROVAL] = approved;
  }

  private async applies(rule: FourEyesRule, request: FastifyRequest, merchantId: string): Promise<boolean> {
    const [row] = await this.prisma.$queryRaw<{ four_eyes: FourEyes | null }[]>`
      SELECT settings->'four_eyes' AS four_eyes FROM merchants WHERE id = ${merchantId}`;
    const { unknown_above: above = null, provider_accounts: accounts = false } = row?.four_eyes ?? {};
    switch (rule) {
      case 'provider_account':
        return accounts;
      case 'four_eyes':
        return (above !== null || accounts) && isObject(request.body) && 'four_eyes' in request.body;
      case 'unknown':
        return above !== null && (await this.isAbove(above, request, merchantId));
    }
  }

  private async isAbove(above: number, request: FastifyRequest, merchantId: string): Promise<boolean> {
    const { id } = request.params as { id?: string };
    if (id === undefined || !isId('att', id)) return false;
    const sum = await findSumOfAttempt(this.prisma, merchantId, id);
    return sum !== null && sum > BigInt(above);
  }

  /**
   * One whose approver could not give it any more lets nothing pass: who is removed leaves no yes behind.
   * @returns the approval that lets this request pass; null: there is none
   */
  private async take(merchantId: string, hash: Buffer, { userId }: Person): Promise<string | null> {
    // The roles of the platform are no rows of the merchant.
    const given = await acrossMerchants(
      async () => this.prisma.$queryRaw<{ id: string; scopes: string[]; roles: string[] }[]>`
        SELECT a.id, a.scopes,
               ARRAY(SELECT m.role FROM memberships m JOIN users u ON u.id = m.user_id AND u.disabled_at IS NULL
                      WHERE m.user_id = a.decided_by AND (m.merchant_id = a.merchant_id OR m.merchant_id IS NULL)) AS roles
          FROM approvals a
         WHERE a.merchant_id = ${merchantId} AND a.request_hash = ${hash} AND a.requested_by = ${userId}
           AND a.state = 'approved' AND a.expires_at > now()`,
    );
    for (const { id, scopes, roles } of given) {
      const held = scopesOfRoles(roles.filter(isRole));
      if (scopes.every((scope) => holdsScope(held, scope)) && (await this.use(id))) return id;
    }
    return null;
  }

  private async use(id: string): Promise<boolean> {
    const used = await this.prisma.$executeRaw`
      UPDATE approvals SET state = 'used' WHERE id = ${id} AND state = 'approved' AND expires_at > now()`;
    return used === 1;
  }

  /** What the request asked for did not happen: it may be tried again. */
  private async giveBack(id: string): Promise<void> {
    await this.prisma.$executeRaw`UPDATE approvals SET state = 'approved' WHERE id = ${id} AND state = 'used'`;
  }

  /** @returns the approval that waits for a second user, the one that was asked for before if there is one */
  private ask(
    request: FastifyRequest,
    { hash, rule, client, person }: { hash: Buffer; rule: FourEyesRule; client: KnownClient; person: Person },
  ): Promise<string> {
    const { merchantId } = client;
    return this.changes.execute<string>(callerOfRequest(request), async (tx) => {
      await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${`approvals ${merchantId}`}, 0))`;
      const open = { merchantId, state: 'pending' as const, expiresAt: { gt: new Date() } };
      const known = await tx.approval.findFirst({
        where: { ...open, requestHash: new Uint8Array(hash), requestedBy: person.userId },
      });
      if (known) return { result: known.id, action: null };
      if ((await tx.approval.count({ where: open })) >= MAX_PENDING)
        throw new Problem('in_use', `${MAX_PENDING} requests wait for a second user. Decide some first.`);
      const { id: subjectId = merchantId } = request.params as { id?: string };
      const data = {
        ...{ id: newId('apr'), merchantId, subjectId, requestedBy: person.userId },
        action: `${request.method} ${request.routeOptions.url ?? ''}`,
        requestHash: new Uint8Array(hash),
        request: shownRequest(rule, request.body) as Prisma.InputJsonValue,
        scopes: [...(neededScopes(request) ?? [])],
        expiresAt: new Date(Date.now() + EXPIRES_AFTER_SECONDS * 1_000),
      };
      const { id } = await tx.approval.create({ data });
      const after = { action: data.action, subject_id: subjectId, request: data.request };
      return { result: id, action: 'approval.request', targetId: id, before: null, after };
    });
  }
}

/** What the second user sees, and the trail: rules of their own decide what the values of some fields may hold, after this. */
function shownRequest(rule: FourEyesRule, body: unknown): unknown {
  return JSON.parse(storableJson(JSON.stringify(withoutSecrets(rule, body)))) as unknown;
}

/** Settings of providers are secrets by names of their own: only addresses are shown. */
function withoutSecrets(rule: FourEyesRule, body: unknown): unknown {
  if (!isObject(body)) return {};
  const shown = redact(body) as Record<string, unknown>;
  const { settings } = body;
  if (rule !== 'provider_account' || !isObject(settings)) return shown;
  const names = Object.entries(settings).map(([name, value]) => [name, name.endsWith('_url') ? value : '[set]']);
  return { ...shown, settings: Object.fromEntries(names) as Record<string, unknown> };
}

function approvalNeeded(id: string): Problem {
  const detail = `A second user has to approve this (${id}). Then send the same request again.`;
  return new HttpProblem('approval_needed', detail, { location: `/v1/approvals/${id}` });
}
