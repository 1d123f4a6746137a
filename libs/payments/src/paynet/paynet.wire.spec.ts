// Whatever a call is answered, Paynet finds the call that it made by its own id.
import type { InboundRequest } from '../inbound.js';
import { paynetError, paynetResult } from './paynet.wire.js';

function requestOf(body: string): InboundRequest {
  return {
    ...{ method: 'POST', operation: '', authorization: undefined, header: () => undefined },
    ...{ body, atMs: 0, isKnownSource: true },
  };
}

test.each([
  ['a number', '{"id":7}', 7],
  ['a text', '{"id":"a-7"}', 'a-7'],
  ['none', '{}', null],
  ['another kind of value', '{"id":{}}', null],
  ['a body that is no JSON', '{', null],
])('the id of the call comes back: %s', (_name, body, id) => {
  const request = requestOf(body);
  expect(paynetResult(request, {}).body).toMatchObject({ jsonrpc: '2.0', id });
  expect(paynetError(request, 'system').body).toMatchObject({ jsonrpc: '2.0', id });
});
