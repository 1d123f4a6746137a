import { accessWords } from './access.js';
import { fleet } from './fleet.js';
import { goodsWords } from './goods.js';
import { messageWords } from './messages.js';
import { money } from './money.js';
import { overviewWords } from './overview.js';
import { receipts } from './receipts.js';
import { settlementWords } from './settlement.js';
import { shell } from './shell.js';

export const words = {
  ...shell,
  ...accessWords,
  ...goodsWords,
  ...messageWords,
  ...money,
  ...overviewWords,
  ...settlementWords,
  receipts,
  fleet,
};
