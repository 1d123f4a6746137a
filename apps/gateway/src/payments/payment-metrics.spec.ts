// Promise: calls in the name of a provider that prove nothing are counted from the start of a gateway, so that the first burst of them counts.
import { PROVIDERS } from '#payments';
import { Metrics } from '#runtime';
import { PaymentMetrics } from './payment-metrics.js';

test('what the alert of them adds up begins at 0 for every provider', async () => {
  const metrics = new Metrics('test');
  new PaymentMetrics(metrics);
  const { text } = await metrics.read();
  for (const provider of PROVIDERS)
    for (const outcome of ['wrong_key', 'held_back', 'unknown_source'])
      expect(text).toMatch(
        new RegExp(`^provider_inbound_calls_total\\{provider="${provider}",outcome="${outcome}",.*\\} 0$`, 'm'),
      );
});
