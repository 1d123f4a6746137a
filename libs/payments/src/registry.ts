import { withAmountBounds } from './amount-bounds.js';
import { ATMOS } from './atmos/atmos.provider.js';
import { CLICK } from './click/click.provider.js';
import type { ProviderDefinition } from './definition.js';
import { MULTICARD } from './multicard/multicard.provider.js';
import { OCTO } from './octo/octo.provider.js';
import { PAYME } from './payme/payme.provider.js';
import { PAYNET } from './paynet/paynet.provider.js';
import { PROVIDERS, type ProviderCode } from './port.js';
import { STRIPE } from './stripe/stripe.provider.js';
import { UZUM } from './uzum/uzum.provider.js';

/** Every provider that there is: a new one is a line here and a word in `PROVIDERS`. */
export const DEFINITIONS: Readonly<Record<ProviderCode, ProviderDefinition>> = {
  payme: withAmountBounds(PAYME),
  click: withAmountBounds(CLICK),
  multicard: withAmountBounds(MULTICARD),
  uzum: withAmountBounds(UZUM),
  octo: withAmountBounds(OCTO),
  atmos: withAmountBounds(ATMOS),
  paynet: withAmountBounds(PAYNET),
  stripe: withAmountBounds(STRIPE),
};

export function isProvider(text: string): text is ProviderCode {
  return (PROVIDERS as readonly string[]).includes(text);
}
