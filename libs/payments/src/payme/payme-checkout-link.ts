export interface PaymeCheckout {
  /** `https://checkout.paycom.uz`, or the sandbox's host. */
  host: string;
  cashboxId: string;
  accountField: string;
  account: string;
  amountTiyin: number;
  returnUrl: string | null;
}

/**
 * The link that opens Payme's page. How it reads base64 with padding is nowhere said, so the text is filled with a
 * second separator until none is needed.
 */
export function paymeCheckoutLink(checkout: PaymeCheckout): string {
  const pairs = [
    `m=${checkout.cashboxId}`,
    `ac.${checkout.accountField}=${checkout.account}`,
    `a=${String(checkout.amountTiyin)}`,
    ...(checkout.returnUrl === null ? [] : [`c=${checkout.returnUrl}`]),
  ];
  const text = pairs.join(';');
  const missing = (3 - (Buffer.byteLength(text) % 3)) % 3;
  return `${checkout.host}/${Buffer.from(text + ';'.repeat(missing)).toString('base64')}`;
}
