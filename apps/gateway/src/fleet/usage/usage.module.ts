import { Module } from '@nestjs/common';
import { MerchantUsage } from './merchant-usage.js';
import { UsageRepository } from './usage.repository.js';

/** What merchants use of this installation, and how much they may. */
@Module({ providers: [UsageRepository, MerchantUsage], exports: [MerchantUsage] })
export class UsageModule {}
