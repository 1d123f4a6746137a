/** How a message reaches a buyer. */
export const CHANNELS = ['email', 'sms', 'telegram'] as const;
export type MessageChannel = (typeof CHANNELS)[number];

/** Whose service carries it. A new one is a word here and a line in `DEFINITIONS` (registry.ts). */
export const MESSAGE_PROVIDERS = ['smtp', 'eskiz', 'playmobile', 'telegram'] as const;
export type MessageProviderCode = (typeof MESSAGE_PROVIDERS)[number];

export interface Attachment {
  filename: string;
  contentType: string;
  content: Buffer;
  /** Shown within the HTML under this name (`cid:`); absent: attached. */
  cid?: string;
}

/** What an e-mail has beside its text. */
export interface EmailParts {
  subject: string;
  html: string;
  /** Without angle brackets. The same at every try: who has got it twice sees it once. */
  messageId: string;
  /** Where one request ends messages of this kind (RFC 8058). */
  unsubscribeUrl: string;
  attachments: readonly Attachment[];
}

export interface OutgoingMessage {
  /** Our id: also the provider's, where it takes one. */
  id: string;
  /** An e-mail address, a phone as `998901234567`, or the number of a chat. */
  to: string;
  text: string;
  email: EmailParts | null;
  /** Where the provider reports what became of it; null: it does not. */
  callbackUrl: string | null;
  /** Without a sound, where the channel can. */
  isQuiet: boolean;
}

/** What one try came to. Every odd answer is `unclear`: what that means is the channel's business. */
export type SendOutcome =
  /** The provider has taken it on. */
  | { kind: 'sent'; providerRef: string | null }
  /** Nothing was sent, and this address takes nothing at all: no more messages go there. */
  | { kind: 'address_refused'; code: string; detail: string }
  /** Nothing was sent, and the same message once more would be refused as well. */
  | { kind: 'refused'; code: string; detail: string }
  /** Nothing was sent because of the account: its key is wrong, or it is locked. */
  | { kind: 'account_refused'; code: string; detail: string }
  /** Nothing was sent; later it may be. */
  | { kind: 'not_now'; code: string; detail: string; retryAfterMs: number | null }
  /** It may have been sent. */
  | { kind: 'unclear'; detail: string };

/** A message as its provider shows it. */
export type StatusOutcome =
  | {
      kind: 'status';
      state: 'sent' | 'delivered' | 'failed';
      providerRef: string | null;
      /** Parts that are billed; null: it does not say. */
      parts: number | null;
      /** What it costs in all, in tiyin; null: it does not say. */
      costTiyin: number | null;
      /** Word of the provider, for people. */
      word: string;
      /** The address itself is the reason of a failure. */
      isAddressRefused: boolean;
    }
  /** It shows none, which proves nothing: it may show one later. */
  | { kind: 'not_found' }
  | { kind: 'unanswered'; detail: string };

/** What is known of a message whose answer was lost. */
export interface MessageQuestion {
  id: string;
  providerRef: string | null;
  to: string;
  text: string;
  triedAt: Date;
}

/** A report of the provider about one of its messages. */
export interface ProviderReport {
  /** Ours, where the report names it; else `providerRef`. */
  messageId: string | null;
  providerRef: string | null;
  status: Extract<StatusOutcome, { kind: 'status' }>;
}

/** One account at one provider. A call is made once: what is tried again, and what never, the gateway decides by its channel. */
export interface MessageSender {
  send(message: OutgoingMessage): Promise<SendOutcome>;
  /** Absent: the provider cannot be asked; it reports by itself. */
  ask?(question: MessageQuestion): Promise<StatusOutcome>;
}

/** What an unclear answer leads to: another copy costs nothing and is recognised, or costs money and annoys. */
export const REPEATS_WHEN_UNCLEAR: Readonly<Record<MessageChannel, boolean>> = {
  email: true,
  sms: false,
  telegram: true,
};
