import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post } from '@nestjs/common';
import { ArrayMaxSize, IsArray, IsObject, IsOptional, IsString, MaxLength } from 'class-validator';
import { CurrentCaller, type Caller } from '../../audit/caller.js';
import { IsName } from '../../http/body-rules.js';
import { ownId } from '../../http/own-id.js';
import type { Page } from '../../http/paging.js';
import { FourEyes, Scopes, StepUp } from '../../http/scopes.js';
import { ProviderAccounts, type AccountView } from './provider-accounts.js';
import { TestConnection, type AccountTestView } from './test-connection.js';

class AccountChangeBody {
  @IsOptional()
  @IsName()
  name?: string;

  /** Texts by name, secrets among them: docs/payments/accounts.md. */
  @IsOptional()
  @IsObject()
  settings?: Record<string, string>;

  /** Networks from which the provider calls; none = anywhere. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(50)
  @IsString({ each: true })
  sources?: string[];
}

class NewAccountBody extends AccountChangeBody {
  @IsString()
  @MaxLength(32)
  provider!: string;
}

/** Accounts at payment providers: who may take money for the merchant. */
@Controller('v1/provider-accounts')
@Scopes('clients:admin')
export class ProviderAccountsController {
  constructor(
    private readonly accounts: ProviderAccounts,
    private readonly connection: TestConnection,
  ) {}

  @Post()
  @StepUp()
  @FourEyes('provider_account')
  create(@CurrentCaller() caller: Caller, @Body() { provider, ...input }: NewAccountBody): Promise<AccountView> {
    return this.accounts.create(caller, provider, input);
  }

  @Get()
  @Scopes('clients:read')
  async list(@CurrentCaller() { merchantId }: Caller): Promise<Page<AccountView>> {
    return { data: await this.accounts.list(merchantId), next_cursor: null };
  }

  @Get(':id')
  @Scopes('clients:read')
  read(@CurrentCaller() { merchantId }: Caller, @Param('id') id: string): Promise<AccountView> {
    return this.accounts.find(merchantId, ownId('pac', id, 'provider account'));
  }

  @Patch(':id')
  @StepUp()
  @FourEyes('provider_account')
  update(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Body() input: AccountChangeBody,
  ): Promise<AccountView> {
    return this.accounts.update(caller, ownId('pac', id, 'provider account'), input);
  }

  @Delete(':id')
  @StepUp()
  @FourEyes('provider_account')
  @HttpCode(204)
  disable(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<void> {
    return this.accounts.disable(caller, ownId('pac', id, 'provider account'));
  }

  @Post(':id/test')
  @HttpCode(200)
  test(@CurrentCaller() { merchantId }: Caller, @Param('id') id: string): Promise<AccountTestView> {
    return this.connection.execute(merchantId, ownId('pac', id, 'provider account'));
  }
}
