import { Module } from '@nestjs/common';
import { Reconciliation } from './reconciliation.js';
import { ReportsController } from './reports.controller.js';
import { Turnover } from './turnover.js';

/** Sums over what was registered. */
@Module({ controllers: [ReportsController], providers: [Turnover, Reconciliation] })
export class ReportsModule {}
