import { skipped, type FaultCase } from '../frame/case.js';

export const linksCut: FaultCase = {
  number: '13',
  name: 'links of registers behind NAT cut',
  stage: 'fleet',
  full: { receipts: 1_000, strikes: 100 },
  tenth: { receipts: 100, strikes: 10 },
  maxSeconds: 600,
  run: () => Promise.resolve(skipped('not yet: registers that dial out are not built')),
};
