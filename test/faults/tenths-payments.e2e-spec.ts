// Promise: whatever dies, is cut off, lies or runs full at whatever instant, no receipt is lost, none is doubled, each lane keeps its order, and money and receipt agree.
import { holdTenth, TENTHS } from './frame/tenths.js';

holdTenth(TENTHS.payments);
