export type { CallResult, Refusal, SaleAnswer, Unclear, UnclearReason } from './answers.js';
export {
  LocalApiClient,
  type CarriedClientOptions,
  type LocalApiClientOptions,
  type Preparation,
  type PreparedCall,
} from './client.js';
export type { ExchangeFailure, ExchangeLimits, RawAnswer } from './exchange.js';
export { HttpTransport, type HttpTransportOptions } from './http-transport.js';
export type { LocalApiTransport, OpenedCall, Opening, TransportRequest } from './transport.js';
