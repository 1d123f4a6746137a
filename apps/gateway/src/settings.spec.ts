// Promise: an operator who gave the gateways a setting that is one of another program now reads in their log where it belongs.
import { createLogger } from '#runtime';
import { warnOfMovedSettings } from './settings.js';

test.each<[string, string | undefined, number]>([
  ['a setting of the relays', '365', 1],
  ['nothing', undefined, 0],
  ['nothing, as Compose writes it', ' ', 0],
])('%s', (_what, days, warnings) => {
  const lines: string[] = [];
  const logger = createLogger('gateway', 'warn', { write: (line) => void lines.push(line) });
  warnOfMovedSettings(logger, { WEBHOOK_KEEP_DAYS: days });
  expect(lines).toHaveLength(warnings);
  for (const line of lines) expect(line).toMatch(/"setting":"WEBHOOK_KEEP_DAYS".*give it to the relays/);
});
