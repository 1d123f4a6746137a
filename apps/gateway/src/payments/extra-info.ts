import { readExtraInfo, type LocalExtraInfo } from '#fiscal-domain';
import { DEFINITIONS, type PaymentEvidence, type ProviderCode } from '#payments';
import { reader } from './accounts/account-settings.js';

const CARD_TYPES = { corporate: 1, personal: 2, social: 3 } as const;

/** How the money came, for the receipt's extra information; null when nothing of it can be said in its form. */
export function extraInfoOf(payment: {
  provider: ProviderCode;
  provider_ref: string | null;
  evidence: PaymentEvidence | null;
}): LocalExtraInfo | null {
  const { provider, provider_ref: paymentId, evidence } = payment;
  const cardType = evidence?.cardType;
  return readExtraInfo({
    paymentId,
    paymentProvider: DEFINITIONS[provider].capabilities(reader({ provider, values: {} })).qrPaymentProvider,
    phone: evidence?.phone,
    rrn: evidence?.rrn,
    cardType: cardType ? CARD_TYPES[cardType] : null,
  });
}
