import { Inject, Injectable } from '@nestjs/common';
import { MerchantPatch } from '../../fleet/merchants/merchant-bodies.js';
import { PlatformMerchantBody } from '../../fleet/platform/platform-bodies.js';
import { Merchants, type MerchantView } from '../../fleet/merchants/merchants.js';
import { CLI_ACTOR, programOf } from './actor.js';
import { checked } from './checked.js';
import { ClientCommands } from './client-commands.js';
import { CommandFamilies } from './command-families.js';
import { merchantNamed } from './merchant-named.js';
import { readCommand, type Given, type ReadCommand } from './read-arguments.js';
import { TerminalCommands } from './terminal-commands.js';
import { UsageError } from './usage-error.js';

/** What an operator does on the machine itself: a first merchant, a first client. On the trail as `cli:` and who is acting. */
@Injectable()
export class Cli {
  constructor(
    private readonly merchants: Merchants,
    private readonly clients: ClientCommands,
    private readonly terminals: TerminalCommands,
    private readonly families: CommandFamilies,
    @Inject(CLI_ACTOR) private readonly actor: string,
  ) {}

  /** @returns what is printed @throws UsageError, Problem */
  async run(args: readonly string[]): Promise<unknown> {
    const command = readCommand(args);
    return 'help' in command ? command : this.carryOut(command);
  }

  /** @returns what is printed @throws UsageError, Problem */
  async carryOut(command: ReadCommand): Promise<unknown> {
    const program = programOf(this.actor);
    const { name, target, values } = command;
    const family = this.families.of(command);
    if (family) return family.run(command, program);
    switch (name) {
      case 'merchant create':
        return this.createMerchant(values);
      case 'merchant list':
        return { data: await this.merchants.list() };
      case 'merchant set':
        return this.setMerchant(target, values);
      case 'client create':
        return this.clients.create(await this.merchantOf(values), command, program);
      case 'client list':
        return this.clients.list(await this.merchantOf(values));
      case 'terminal show':
        return this.terminals.show(target);
      case 'terminal give':
        return this.terminals.give(target, await this.merchantOf(values), { given: values, program });
      default:
        return this.clients.run(command, program);
    }
  }

  private createMerchant({ code, name, tin, mode }: Given): Promise<MerchantView> {
    const merchant = checked(PlatformMerchantBody, { code, name, tin, ...(mode !== undefined && { mode }) });
    return this.merchants.create(programOf(this.actor), { ...merchant });
  }

  private async setMerchant(target: string, given: Given): Promise<MerchantView> {
    const { id } = await merchantNamed(this.merchants, target);
    return this.merchants.change({ ...programOf(this.actor), merchantId: id }, checked(MerchantPatch, patchOf(given)));
  }

  private merchantOf({ merchant }: Given): Promise<MerchantView> {
    if (merchant === undefined) throw new UsageError('--merchant is missing');
    return merchantNamed(this.merchants, merchant);
  }
}

function patchOf(given: Given): Record<string, unknown> {
  const { name, 'time-of-close': timeOfClose, 'require-external-id': externalId, 'default-goods': goods } = given;
  const { 'unsupported-fields': unsupportedFields } = given;
  return {
    ...(name !== undefined && { name }),
    ...(timeOfClose !== undefined && { time_of_close: timeOfClose === 'none' ? null : timeOfClose }),
    ...(externalId !== undefined && { requirements: { external_id: readBoolean(externalId) } }),
    ...(unsupportedFields !== undefined && { unsupported_fields: unsupportedFields }),
    ...(goods !== undefined && { default_goods: goods === 'none' ? null : readGoods(goods) }),
  };
}

function readBoolean(text: string): boolean {
  if (text !== 'true' && text !== 'false') throw new UsageError('--require-external-id must be true or false');
  return text === 'true';
}

function readGoods(text: string): Record<string, unknown> {
  const [spic, package_code, units, vat_percent, ...more] = text.split(',');
  if (vat_percent === undefined || more.length > 0)
    throw new UsageError('--default-goods must be none or SPIC,PACKAGE_CODE,UNITS,VAT_PERCENT');
  return { spic, package_code, units: Number(units), vat_percent: Number(vat_percent) };
}
