// Promise: real packets to the database may be lost for good: accepting goes on over new connections.
import { holdTenth, TENTHS } from './frame/tenths.js';

holdTenth(TENTHS.lossy);
