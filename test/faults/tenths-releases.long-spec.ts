// Promise: the release before is replaced by this one while the shops go on selling: no call fails that is repeated when it is asked to be, and no receipt is lost, doubled or unknown.
import { holdTenth, TENTHS } from './frame/tenths.js';

holdTenth(TENTHS.releases);
