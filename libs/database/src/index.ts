export { RECEIPT_SETTLED_CHANNEL, SETTLED_IDS_PER_NOTICE } from './channels.js';
export { PrismaService, type DatabaseSettings } from './prisma.service.js';
export { Prisma } from './generated/client.js';
export type { StoredReceiptDocument } from './stored-receipt.js';
export { UNPROVEN_ATTEMPT } from './unproven-attempt.js';
export { apiKeyOwner } from './sealed-columns.js';
