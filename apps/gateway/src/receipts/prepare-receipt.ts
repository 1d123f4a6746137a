import { Injectable } from '@nestjs/common';
import type { StoredReceiptDocument } from '#database';
import { Problem, type ProblemError } from '#runtime';
import { ChooseDevice, type Route } from '../devices/choose-device.js';
import { ComposeDocument } from './compose-document.js';
import type { ReceiptBody } from './receipt-body.js';

export type Prepared =
  { kind: 'prepared'; route: Route; document: StoredReceiptDocument } | { kind: 'refused'; problem: Problem };

/** A well-shaped body with its register and its complete document, or why there is none. Writes nothing. */
@Injectable()
export class PrepareReceipt {
  constructor(
    private readonly devices: ChooseDevice,
    private readonly composer: ComposeDocument,
  ) {}

  async prepare({ merchantId, body }: { merchantId: string; body: ReceiptBody }): Promise<Prepared> {
    const routing = await this.devices.choose({
      merchantId,
      cashier: body.cashier_id,
      branch: body.branch_id ?? null,
      deviceId: body.device_id ?? null,
    });
    const vatRule = routing.kind === 'routed' ? routing.route.vatRule : 'line-net';
    const composed = await this.composer.compose(merchantId, body, vatRule);
    const faults: ProblemError[] = composed.kind === 'refused' ? composed.faults : [];
    if (routing.kind === 'unknown') faults.push(unknownPlace(routing.field, routing.detail));
    if (faults.length > 0) return { kind: 'refused', problem: Problem.fromErrors(faults) };
    if (routing.kind !== 'routed' || composed.kind !== 'composed') {
      return {
        kind: 'refused',
        problem: new Problem('no_device', 'No register is configured for this cashier or branch.'),
      };
    }
    return { kind: 'prepared', route: routing.route, document: composed.document };
  }
}

function unknownPlace(field: 'cashier_id' | 'branch_id' | 'device_id', detail: string): ProblemError {
  const code = ({ cashier_id: 'cashier_unknown', branch_id: 'branch_unknown', device_id: 'device_unknown' } as const)[
    field
  ];
  return { pointer: `/${field}`, code, detail };
}
