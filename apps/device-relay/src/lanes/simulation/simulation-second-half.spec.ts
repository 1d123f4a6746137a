// Promise: whatever is lost, late, paused, killed or replaced: no receipt is lost, none is doubled, order is kept, no lane stands still for ever.
import { holdSeeds } from './testing/hold-seeds.js';

holdSeeds('second');
