import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database';
import { isTestId } from '#fiscal-domain';
import { notFound } from '../../http/own-id.js';

const STEPS = ['merchant', 'owner', 'branch', 'cashier', 'device', 'client', 'first_receipt'] as const;
export type StepName = (typeof STEPS)[number];

/** A step on the way to the first receipt. What is done is read from what there is: it can be left and gone on with at any time. */
export interface StepView {
  step: StepName;
  done: boolean;
  /** What there is; null: nothing yet. */
  subject_id: string | null;
  /** What is missing, for people; null when it is done. */
  todo: string | null;
  /** The call that does it. */
  call: string;
}

export interface OnboardingView {
  complete: boolean;
  /** The first step that is not done; null when all are. */
  next: StepName | null;
  steps: StepView[];
}

interface Facts {
  name: string;
  suspended: boolean;
  owner: string | null;
  invited: boolean;
  has_client: boolean;
  branch: string | null;
  cashier: string | null;
  device: string | null;
  device_state: string | null;
  device_transport: string | null;
  client: string | null;
  receipt: string | null;
}

/** GET /v1/onboarding: each step is checked against what stands in the database; no progress is kept. */
@Injectable()
export class Onboarding {
  constructor(private readonly prisma: PrismaService) {}

  /** @throws Problem 404 */
  async read(merchantId: string): Promise<OnboardingView> {
    const [facts] = await this.prisma.$queryRaw<Facts[]>`
      SELECT m.name, m.suspended_at IS NOT NULL AS suspended,
             (SELECT o.user_id FROM memberships o JOIN users u ON u.id = o.user_id
               WHERE o.merchant_id = m.id AND o.role = 'owner' AND u.disabled_at IS NULL ORDER BY o.id LIMIT 1) AS owner,
             EXISTS (SELECT FROM invitations WHERE merchant_id = m.id AND used_at IS NULL AND revoked_at IS NULL
                        AND expires_at > now() AND 'owner' = ANY (roles)) AS invited,
             EXISTS (SELECT FROM oauth_clients WHERE merchant_id = m.id AND disabled_at IS NULL) AS has_client,
             (SELECT id FROM branches WHERE merchant_id = m.id AND archived_at IS NULL ORDER BY id LIMIT 1) AS branch,
             (SELECT id FROM cashiers WHERE merchant_id = m.id AND archived_at IS NULL ORDER BY id LIMIT 1) AS cashier,
             d.id AS device, d.state::text AS device_state, d.transport::text AS device_transport,
             (SELECT id FROM oauth_clients WHERE merchant_id = m.id AND disabled_at IS NULL
                AND 'receipts:write' = ANY (scopes) ORDER BY id LIMIT 1) AS client,
             (SELECT id FROM receipts WHERE merchant_id = m.id AND status = 'registered'
               ORDER BY merchant_id, registered_at, id LIMIT 1) AS receipt
        FROM merchants m
             LEFT JOIN LATERAL (
               SELECT id, state, transport FROM devices
                WHERE merchant_id = m.id AND deleted_at IS NULL AND registered_at IS NOT NULL
                ORDER BY state IN ('online', 'degraded') DESC, id LIMIT 1) d ON true
       WHERE m.id = ${merchantId}`;
    if (!facts) throw notFound('merchant');
    const steps = stepsOf(merchantId, facts);
    const next = steps.find(({ done }) => !done)?.step ?? null;
    return { complete: next === null, next, steps };
  }
}

function stepsOf(merchantId: string, facts: Facts): StepView[] {
  const isReady = facts.device_state === 'online' || facts.device_state === 'degraded';
  const todo = {
    merchant: facts.suspended ? 'The merchant is suspended: ask the platform.' : null,
    owner: ownerTodo(facts),
    branch: facts.branch === null ? 'Make a branch: a shop with its address.' : null,
    cashier: facts.cashier === null ? 'Make a cashier, with the register that it sells on.' : null,
    device: isReady ? null : deviceTodo(merchantId, facts),
    client: facts.client === null ? 'Make a client with receipts:write for your program.' : null,
    first_receipt: facts.receipt === null ? 'Sell something small, and refund it.' : null,
  } satisfies Record<StepName, string | null>;
  const subjects = {
    ...{ merchant: merchantId, owner: facts.owner, branch: facts.branch, cashier: facts.cashier, device: facts.device },
    ...{ client: facts.client, first_receipt: facts.receipt },
  } satisfies Record<StepName, string | null>;
  const waits = facts.device !== null && facts.device_transport === 'link' && !isReady;
  const calls = {
    owner: `POST /v1/platform/merchants/${merchantId}/invitations`,
    ...{ merchant: 'PATCH /v1/merchant', branch: 'POST /v1/branches', cashier: 'POST /v1/cashiers' },
    device: waits ? `POST /v1/devices/${facts.device}/enrolments` : 'POST /v1/devices',
    ...{ client: 'POST /v1/clients', first_receipt: 'POST /v1/receipts' },
  } satisfies Record<StepName, string>;
  return STEPS.map((step) => ({
    ...{ step, done: todo[step] === null, subject_id: subjects[step], todo: todo[step], call: calls[step] },
  }));
}

/** A merchant that programs alone work for needs no person. */
function ownerTodo({ owner, invited, has_client: hasClient }: Facts): string | null {
  if (owner !== null || hasClient) return null;
  return invited ? 'The owner has an invitation: open its link and log in.' : 'The platform invites the owner.';
}

function deviceTodo(merchantId: string, { device, device_state: state, device_transport: transport }: Facts): string {
  if (device === null)
    return isTestId(merchantId)
      ? 'Make an emulated register.'
      : 'Add a register: by its address, or with transport link when it stands behind a router.';
  if (transport === 'link' && state === 'unreachable') return 'Scan the code of its enrolment with the register.';
  return `The register is ${state ?? 'not known'}: fgw doctor says what to do.`;
}
