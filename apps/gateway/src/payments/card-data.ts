import { Problem, type ProblemError } from '#problems';
import { looksLikeCard } from '#secrets';
import type { PaymentRequestBody } from './payment-request-body.js';

const NAMES = /^(card_?number|pan|cvc2?|cvv2?|card_?code|expir[ey].*|exp_?date)$/i;

/**
 * No card number and no CVC reaches us: a caller that sends one is mistaken, and is answered so without it being
 * stored, logged or repeated in the answer. Searched where a body has fields for texts of the caller's own.
 * @throws Problem 422 card_data_refused
 */
export function refuseCardData(body: PaymentRequestBody): void {
  const { token, provider, return_url: returnUrl, qr_code: qrCode } = body.payment;
  const texts: [string, string | null | undefined][] = [
    ['/payment/token', token],
    ['/payment/qr_code', qrCode],
    ['/payment/provider', provider],
    ['/payment/return_url', returnUrl],
    ...metadataOf('', body),
    ...(body.further_receipts ?? []).flatMap((each, index) => metadataOf(`/further_receipts/${String(index)}`, each)),
  ];
  const faults = texts.flatMap(([pointer, text]): ProblemError[] =>
    typeof text === 'string' && (looksLikeCard(text) || NAMES.test(pointer.split('/').at(-1) ?? ''))
      ? [
          {
            pointer,
            code: 'card_data_refused',
            detail: 'This looks like card data; send a token of the provider instead.',
          },
        ]
      : [],
  );
  if (faults.length > 0) throw Problem.fromErrors(faults);
}

function metadataOf(pointer: string, { metadata }: { metadata?: Record<string, string> }): [string, string][] {
  return Object.entries(metadata ?? {}).map(([key, value]) => [`${pointer}/metadata/${key}`, value]);
}
