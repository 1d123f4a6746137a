import { Injectable } from '@nestjs/common';
import type { Caller } from '../../audit/caller.js';
import { ChangeClient } from '../../access/clients/change-client.js';
import type { Administrator } from '../../access/clients/client-administrator.js';
import { ClientBody, ClientPatch, RotateSecretBody } from '../../access/clients/client-bodies.js';
import type { ClientView } from '../../access/clients/client-view.js';
import { Clients } from '../../access/clients/clients.js';
import { CreateClient } from '../../access/clients/create-client.js';
import { RotateSecret } from '../../access/clients/rotate-secret.js';
import { SwitchClient } from '../../access/clients/switch-client.js';
import { MERCHANT_SCOPES, SCOPES } from '../../http/scopes.js';
import type { MerchantView } from '../../fleet/merchants/merchants.js';
import { AUTH_METHODS } from '../../access/oauth/auth-methods.js';
import type { Given, ReadCommand } from './read-arguments.js';
import { checked } from './checked.js';
import { UsageError } from './usage-error.js';

type Program = Omit<Caller, 'merchantId'>;

/** `client …`: the first client of a merchant, and the way back in for one that shut itself out. */
@Injectable()
export class ClientCommands {
  constructor(
    private readonly clients: Clients,
    private readonly createClient: CreateClient,
    private readonly changeClient: ChangeClient,
    private readonly rotateSecret: RotateSecret,
    private readonly switchClient: SwitchClient,
  ) {}

  async create(merchant: MerchantView, { values, flags }: ReadCommand, program: Program): Promise<unknown> {
    const { name, ip, scopes } = values;
    if (name === undefined) throw new UsageError('--name is missing');
    if (ip === undefined) throw new UsageError('--ip is missing: any, or the networks from which the client may call');
    const body = {
      name,
      scopes: readScopes(scopes),
      ...readIp(ip),
      require_idempotency_key: flags.has('require-idempotency-key'),
    };
    const administrator = administratorOf(program, merchant.id);
    const { id, ...view } = await this.createClient.execute(administrator, checked(ClientBody, body));
    return { merchant: merchant.code, client_id: id, ...view };
  }

  async list(merchant: MerchantView): Promise<{ data: ClientView[] }> {
    const data: ClientView[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const query = { limit: '100', disabled: 'true', ...(cursor !== '' && { cursor }) };
      const page = await this.clients.list(merchant.id, query);
      data.push(...page.data);
      cursor = page.next_cursor;
    }
    return { data };
  }

  /** A command about one client. @throws UsageError when there is no such client */
  async run({ verb, target: id, values, flags }: ReadCommand, program: Program): Promise<unknown> {
    const client = await this.clients.find(id);
    if (client === null) throw new UsageError(`There is no client ${JSON.stringify(id)}.`);
    const administrator = administratorOf(program, client.merchantId, client.scopes);
    switch (verb) {
      case 'set':
        return this.changeClient.execute(administrator, id, checked(ClientPatch, patchOf(values)));
      case 'rotate-secret':
        return this.rotateSecret.execute(administrator, id, checked(RotateSecretBody, rotationOf(values, flags)));
      case 'disable':
        return this.switchClient.disable(administrator, id);
      default:
        return this.switchClient.enable(administrator, id);
    }
  }
}

/** An operator of the machine may grant everything, and change a client to which another release has given what this one does not know. */
function administratorOf(program: Program, merchantId: string, held: readonly string[] = []): Administrator {
  return { ...program, merchantId, scopes: [...SCOPES, ...held] };
}

function patchOf({ name, ip, scopes, signing, auth }: Given): Record<string, unknown> {
  return {
    ...(name !== undefined && { name }),
    ...(scopes !== undefined && { scopes: readScopes(scopes) }),
    ...(ip !== undefined && readIp(ip)),
    ...(signing !== undefined && { signing_policy: signing }),
    ...(auth !== undefined && { token_endpoint_auth_methods: readMethods(auth) }),
  };
}

function rotationOf({ 'overlap-seconds': overlap }: Given, flags: ReadonlySet<string>): Record<string, unknown> {
  return {
    ...(overlap !== undefined && { overlap_seconds: Number(overlap) }),
    ...(flags.has('revoke-tokens') && { revoke_tokens: true }),
  };
}

/** `any`, `none`, or networks. */
function readIp(text: string): Record<string, unknown> {
  if (text === 'any') return { ip_policy: 'any', allowed_cidrs: [] };
  return { ip_policy: 'listed', allowed_cidrs: text === 'none' ? [] : text.split(',').map((cidr) => cidr.trim()) };
}

/** What is none of them, the rules of the API refuse. */
function readMethods(text: string): string[] {
  return text === 'all' ? [...AUTH_METHODS] : text.split(',').map((method) => method.trim());
}

function readScopes(text: string | undefined): string[] {
  if (text === undefined || text === 'all') return [...MERCHANT_SCOPES];
  return text.split(',').map((name) => {
    const scope = SCOPES.find((known) => known === name.trim());
    if (scope === undefined) throw new UsageError(`--scopes: ${JSON.stringify(name)} is none of ${SCOPES.join(', ')}`);
    return scope;
  });
}
