// Promise: with every further payment provider money and receipt agree, whatever dies at whatever instant.
import { holdTenth, TENTHS } from './frame/tenths.js';

holdTenth(TENTHS.providers);
