// Promise: a standby that lagged and is promoted under load takes what it never had and nothing else; nothing is doubled but by a call that its client repeats.
import { holdTenth, TENTHS } from './frame/tenths.js';

holdTenth(TENTHS.lagging);
