import { accessWords } from './access.js';
import { fleet } from './fleet.js';
import { goodsWords } from './goods.js';
import { money } from './money.js';
import { receipts } from './receipts.js';
import { shell } from './shell.js';

export const words = { ...shell, ...accessWords, ...goodsWords, ...money, receipts, fleet };
