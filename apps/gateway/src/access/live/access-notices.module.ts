import { Module } from '@nestjs/common';
import { AccessNotices } from './access-notices.js';

/** Notices of rights that were taken away, for tokens and for sessions. */
@Module({ providers: [AccessNotices], exports: [AccessNotices] })
export class AccessNoticesModule {}
