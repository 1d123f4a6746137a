import { field, SECRET, webAddress } from '#outgoing';
import type { MessageProviderDefinition } from '../definition.js';
import { EskizClient } from './eskiz.client.js';
import { eskizReports } from './eskiz.transform.js';

export const ESKIZ: MessageProviderDefinition = {
  channel: 'sms',
  fields: {
    api_url: webAddress('https://notify.eskiz.uz'),
    email: field(),
    password: SECRET,
    from: field({ pattern: /^[A-Za-z0-9 ._-]{1,20}$/ }),
  },
  places: ['api_url'],
  sender: (read, reach) =>
    new EskizClient(
      { apiUrl: read('api_url'), email: read('email'), password: read('password'), from: read('from') },
      reach,
    ),
  reports: eskizReports,
};
