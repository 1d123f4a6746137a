import type { StoredReceiptDocument } from '#database';
import {
  MAX_LOCAL_REQUEST_BYTES,
  MODULE_PAYMENT_TOLERANCE_TIYIN,
  requestPaymentGap,
  toLocalReceipt,
  type FiscalField,
  type LocalReceiptRequest,
  type Rejection,
} from '#fiscal-domain';
import type { LaneDevice } from '../devices/register.js';
import type { WaitingReceipt } from './ports.js';

export type ComposedRequest =
  | { kind: 'composed'; bytes: Buffer }
  /** It may not be sent as it is, by whatever relay and however often it is tried. */
  | { kind: 'refused'; rejection: Rejection };

/**
 * The bytes for this register: the specification's, and beyond it what the register takes (docs/adr/0046-fiscal-fields.md).
 *
 * A receipt that may be registered there already is never refused here: its key has to find out.
 */
export function composeRequest(receipt: WaitingReceipt, device: LaneDevice): ComposedRequest {
  const { takesExtraInfo = false, takesFields = [], profile } = device;
  const { document } = receipt;
  const extraInfo = takesExtraInfo ? (receipt.extraInfo ?? null) : null;
  const fields = takesFields.filter((field) => !document.withheldFields?.includes(field));
  const request = toLocalReceipt(document, profile.vatRule, { extraInfo, fields });
  const bytes = Buffer.from(JSON.stringify(request));
  const rejection = receipt.mayBeRegistered
    ? null
    : (lostFields(document, takesFields) ?? unpaid(request) ?? tooLarge(bytes));
  return rejection === null ? { kind: 'composed', bytes } : { kind: 'refused', rejection };
}

function lostFields({ requiredFields = [] }: StoredReceiptDocument, taken: readonly FiscalField[]): Rejection | null {
  const lost = requiredFields.filter((field) => !taken.includes(field));
  if (lost.length === 0) return null;
  return rejected('field_unsupported', `The register does not take ${lost.join(', ')}; nothing was sent to it.`);
}

/** What the gateway accepts is paid to the tiyin: this would be a fault of ours, and no real module would register it. */
function unpaid(request: LocalReceiptRequest): Rejection | null {
  const gap = requestPaymentGap(request);
  if (gap === null || gap <= BigInt(MODULE_PAYMENT_TOLERANCE_TIYIN)) return null;
  return rejected('payment_mismatch', `The paid sum is ${gap} tiyin away from the total; nothing was sent.`);
}

/** No register would ever take it, and none of the receipts behind it would get its turn. */
function tooLarge({ length }: Buffer): Rejection | null {
  if (length <= MAX_LOCAL_REQUEST_BYTES) return null;
  const detail = `The receipt has ${length} bytes, a register takes ${MAX_LOCAL_REQUEST_BYTES}; nothing was sent.`;
  return rejected('payload_too_large', detail);
}

function rejected(code: string, detail: string): Rejection {
  return { code, rule: null, detail, line: null };
}
