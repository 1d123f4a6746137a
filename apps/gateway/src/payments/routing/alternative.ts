import type { PaymentFlow, ProviderCode } from '#payments';

/** Where a payment goes next while no money has moved; as `payments.alternatives` keeps it, the best first. */
export interface Alternative {
  account_id: string;
  provider: ProviderCode;
  flow: PaymentFlow;
}
