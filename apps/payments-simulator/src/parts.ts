import type { Faults } from './faults.js';
import type { Merchant } from './merchant-call.js';
import type { Money } from './money.js';

/** What every simulated provider works with. */
export interface Parts {
  money: Money;
  faults: Faults;
  merchant: Merchant;
  ownUrl: () => string;
}
