// Promise: a mass outage, the OFD away, reports and a lost gateway host lose nothing, double nothing and stop no merchant.
import { holdTenth, TENTHS } from './frame/tenths.js';

holdTenth(TENTHS.nation);
