import type { Reach } from '../exchange.js';
import type { MessageSender, OutgoingMessage, SendOutcome } from '../port.js';
import { playmobileSent } from './playmobile.transform.js';

export interface PlaymobileOptions {
  /** `https://send.smsxabar.uz` */
  apiUrl: string;
  login: string;
  password: string;
  originator: string;
}

/** PlayMobile: a message carries our id; its state comes by reports alone, no call asks for it. */
export class PlaymobileClient implements MessageSender {
  constructor(
    private readonly options: PlaymobileOptions,
    private readonly reach: Reach,
  ) {}

  async send({ id, to, text }: OutgoingMessage): Promise<SendOutcome> {
    const { apiUrl, login, password, originator } = this.options;
    const body = { messages: [{ recipient: to, 'message-id': id, sms: { originator, content: { text } } }] };
    const answer = await this.reach.http({
      ...{ method: 'POST', url: `${apiUrl}/broker-api/send`, body: JSON.stringify(body) },
      headers: {
        authorization: `Basic ${Buffer.from(`${login}:${password}`).toString('base64')}`,
        'content-type': 'application/json; charset=UTF-8',
      },
    });
    return playmobileSent(answer, id);
  }
}
