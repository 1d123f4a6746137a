import { Injectable } from '@nestjs/common';
import type { StoredReceiptDocument } from '#database';
import { isTestId, readSandboxOutcome, type VatRule } from '#fiscal-domain';
import { Problem, type ProblemError } from '#problems';
import {
  ChooseDevice,
  type Placing,
  type Route,
  type RouteQuery,
  type Routing,
} from '../fleet/devices/choose-device.js';
import { withoutNulls } from '../http/without-nulls.js';
import { ComposeDocument, type Composed } from './compose-document.js';
import type { ReceiptBody } from './receipt-body.js';
import { lostFields, unsupportedFaults } from './stated-fields.js';

export type Prepared =
  | { kind: 'prepared'; route: Route; document: StoredReceiptDocument }
  | { kind: 'refused'; problem: Problem };

type Placed = Extract<Placing, { kind: 'placed' }>['place'];
export type PreparedForProvider =
  | { kind: 'prepared'; route: Placed; document: StoredReceiptDocument }
  | { kind: 'refused'; problem: Problem };

/** Where a receipt would go and what it would become there, or everything that is wrong with it. Stores nothing. */
@Injectable()
export class PrepareReceipt {
  constructor(
    private readonly devices: ChooseDevice,
    private readonly composer: ComposeDocument,
  ) {}

  /** @param options.collects whether a payment goes with it: else "online" would be a sale without a payment */
  async prepare(merchantId: string, given: ReceiptBody, options = { collects: false }): Promise<Prepared> {
    const body = withoutNulls(given);
    if (body.payment.method === 'online' && !options.collects) return { kind: 'refused', problem: notCollected() };
    const { routing, composed } = await this.routeAndCompose(merchantId, body);
    const faults: ProblemError[] = composed.kind === 'refused' ? [...composed.faults] : [];
    faults.push(...sandboxFaults(merchantId, body.metadata));
    if (routing.kind === 'unknown') faults.push(unknownPlace(routing.field, routing.detail));
    if (routing.kind === 'routed' && composed.stated.areRequired) {
      const lost = lostFields(composed.stated, routing.route.takesFields);
      faults.push(...unsupportedFaults(lost, 'The register'));
    }
    if (faults.length > 0) return { kind: 'refused', problem: Problem.fromErrors(faults) };
    if (routing.kind !== 'routed' || composed.kind !== 'composed') {
      return {
        kind: 'refused',
        problem: new Problem('no_device', 'No register is configured for this cashier or branch.'),
      };
    }
    return { kind: 'prepared', route: routing.route, document: composed.document };
  }

  /** What a receipt says decides which register can have it, and that register how it is judged. */
  private async routeAndCompose(
    merchantId: string,
    body: ReceiptBody,
  ): Promise<{ routing: Routing; composed: Composed }> {
    const query: RouteQuery = {
      merchantId,
      cashier: body.cashier_id,
      branch: body.branch_id ?? null,
      deviceId: body.device_id ?? null,
    };
    const routing = await this.devices.choose(query);
    const composed = await this.composer.compose(merchantId, body, vatRuleOf(routing));
    const { stated } = composed;
    if (routing.kind !== 'routed' || lostFields(stated, routing.route.takesFields).length === 0)
      return { routing, composed };
    const needs = { fields: stated.places.map(({ field }) => field), areRequired: stated.areRequired };
    const fitting = await this.devices.choose({ ...query, needs });
    // None takes it: the first one says so, with everything else that is wrong.
    if (fitting.kind !== 'routed') return { routing, composed };
    const isJudgedAlike = vatRuleOf(fitting) === vatRuleOf(routing);
    return {
      routing: fitting,
      composed: isJudgedAlike ? composed : await this.composer.compose(merchantId, body, vatRuleOf(fitting)),
    };
  }

  /** The same for a sale that its payment provider registers: no register of ours is asked for, or allowed to be named. */
  async prepareForProvider(merchantId: string, given: ReceiptBody): Promise<PreparedForProvider> {
    const body = withoutNulls(given);
    const placing = await this.devices.place({ merchantId, cashier: body.cashier_id, branch: body.branch_id ?? null });
    const composed = await this.composer.compose(merchantId, body, 'line-net');
    const faults: ProblemError[] = composed.kind === 'refused' ? [...composed.faults] : [];
    if (placing.kind === 'unknown') faults.push(unknownPlace(placing.field, placing.detail));
    if (body.device_id !== undefined) {
      const detail = 'The payment provider registers this sale, no register of yours.';
      faults.push({ pointer: '/device_id', code: 'invalid_value', detail });
    }
    // A seller stands in the provider's lines, as far as their form has a field; no form has one for the buyer.
    if (composed.stated.areRequired)
      faults.push(...unsupportedFaults(lostFields(composed.stated, ['commission']), 'The payment provider'));
    if (faults.length > 0 || placing.kind !== 'placed' || composed.kind !== 'composed')
      return { kind: 'refused', problem: Problem.fromErrors(faults) };
    return { kind: 'prepared', route: placing.place, document: composed.document };
  }
}

function vatRuleOf(routing: Routing): VatRule {
  return routing.kind === 'routed' ? routing.route.vatRule : 'line-net';
}

function unknownPlace(field: 'cashier_id' | 'branch_id' | 'device_id', detail: string): ProblemError {
  const code = ({ cashier_id: 'cashier_unknown', branch_id: 'branch_unknown', device_id: 'device_unknown' } as const)[
    field
  ];
  return { pointer: `/${field}`, code, detail };
}

/** In a sandbox a mistyped value would pass for a receipt without one. */
export function sandboxFaults(
  merchantId: string,
  metadata: Readonly<Record<string, string>> | undefined,
): ProblemError[] {
  const said = isTestId(merchantId) ? metadata?.['sandbox'] : undefined;
  if (said === undefined || readSandboxOutcome(said) !== null) return [];
  const detail = 'metadata.sandbox is none of the values that force an outcome (docs/sandbox.md).';
  return [{ pointer: '/metadata/sandbox', code: 'invalid_value', detail }];
}

function notCollected(): Problem {
  const detail = 'Money is collected one sale at a time, by POST /v1/receipts or /v1/payments.';
  return Problem.at('/payment/method', 'payment_method_unsupported', detail);
}
