export type { Method, Schema } from './api-types.js';
export type { WriteOptions } from './api.js';
export { FiscalGateway } from './client.js';
export {
  ConnectionError,
  FiscalGatewayError,
  OAuthError,
  ProblemError,
  UsageError,
  type Problem,
  type ProblemCode,
  type ProblemFault,
} from './errors.js';
export type { components, operations, paths } from './generated/api.js';
export type {
  AccessToken,
  ClientOptions,
  Credentials,
  Hooks,
  RequestInfo,
  ResponseInfo,
  RetryInfo,
} from './options.js';
export { PagedList } from './pages.js';
export {
  isSettled,
  type CancelledReceipt,
  type PendingReceipt,
  type Receipt,
  type RegisteredReceipt,
  type RejectedReceipt,
  type SettledReceipt,
  type UnknownReceipt,
} from './receipt-states.js';
export type { EventFilters, EventPage, FollowOptions, StreamedEvent } from './resources/events.js';
export type { Payment } from './resources/payments.js';
export {
  WaitTimeoutError,
  type BatchEntry,
  type RefundBody,
  type SaleBody,
  type SaleOptions,
  type ValidatedSale,
  type WaitOptions,
} from './resources/receipts.js';
export type { Catalog } from './resources/catalog.js';
export type { NewWebhook, Webhook, Webhooks } from './resources/webhooks.js';
export type { RetryOptions } from './retry.js';
export type { PrivateKey, SignatureAlgorithm, SigningOptions } from './signing/signing-key.js';
export type { CallOptions } from './transport.js';
export { VERSION } from './version.js';
export {
  signWebhook,
  verifyWebhook,
  WebhookVerificationError,
  type FiscalEvent,
  type HeadersLike,
  type VerifyOptions,
  type WebhookRefusal,
} from './webhook-signature.js';
