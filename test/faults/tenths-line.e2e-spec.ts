// Promise: a database that falls silent, a gateway that stands still and a storm of reports stop neither accepting nor the events of others.
import { holdTenth, TENTHS } from './frame/tenths.js';

holdTenth(TENTHS.line);
