import { field, SECRET, webAddress } from '#outgoing';
import type { MessageProviderDefinition } from '../definition.js';
import { PlaymobileClient } from './playmobile.client.js';
import { playmobileReports } from './playmobile.transform.js';

export const PLAYMOBILE: MessageProviderDefinition = {
  channel: 'sms',
  fields: {
    api_url: webAddress('https://send.smsxabar.uz'),
    login: field({ pattern: /^[\x21-\x39\x3b-\x7e]{1,100}$/ }),
    password: SECRET,
    originator: field({ pattern: /^[A-Za-z0-9 ._-]{1,20}$/ }),
  },
  places: ['api_url'],
  sender: (read, reach) =>
    new PlaymobileClient(
      {
        ...{ apiUrl: read('api_url'), login: read('login') },
        ...{ password: read('password'), originator: read('originator') },
      },
      reach,
    ),
  reports: playmobileReports,
  reportAnswer: 'Request is received',
};
