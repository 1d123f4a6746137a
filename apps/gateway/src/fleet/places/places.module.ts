import { Module } from '@nestjs/common';
import { AuditModule } from '../../audit/audit.module.js';
import { Branches } from '../branches/branches.js';
import { BranchesController } from '../branches/branches.controller.js';
import { Cashiers } from '../cashiers/cashiers.js';
import { CashiersController } from '../cashiers/cashiers.controller.js';
import { Groups } from '../groups/groups.js';
import { GroupsController } from '../groups/groups.controller.js';
import { Brands } from '../merchants/brands.js';
import { MerchantController } from '../merchants/merchant.controller.js';
import { Merchants } from '../merchants/merchants.js';
import { Places } from './places.js';

/** The merchant and its places: branches, cashiers, groups of registers. */
@Module({
  imports: [AuditModule],
  controllers: [BranchesController, CashiersController, GroupsController, MerchantController],
  providers: [Brands, Places, Branches, Cashiers, Groups, Merchants],
  exports: [Places, Merchants],
})
export class PlacesModule {}
