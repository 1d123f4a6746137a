export type { CallResult, SaleAnswer } from './answers.js';
export { LocalApiClient } from './client.js';
export type { ExchangeFailure, ExchangeLimits, RawAnswer } from './exchange.js';
export { HttpTransport } from './http-transport.js';
export type { LocalApiTransport, OpenedCall, Opening, TransportRequest } from './transport.js';
