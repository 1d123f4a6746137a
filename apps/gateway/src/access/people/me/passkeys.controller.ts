import { Body, Controller, Delete, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BodyLimit } from '#http';
import { Answers } from '#runtime';
import { callerOfRequest, CurrentCaller, type Caller } from '../../../audit/caller.js';
import { CurrentPerson, type Person } from '../../../http/current-client.js';
import { ownId } from '../../../http/own-id.js';
import type { Page } from '../../../http/paging.js';
import { ForPeople, SignedIn, StepUp } from '../../../http/scopes.js';
import { AuthenticatePerson } from '../authenticate-person.js';
import { Passkeys } from '../credentials/passkeys.js';
import { NewPasskeyBody } from '../login/login-bodies.js';
import { LOGIN_BODY_BYTES, type PasskeyOptionsView } from '../login/login.controller.js';
import { LoginCookie } from '../login-cookie.js';
import { aboutUser } from '../sessions/sessions.controller.js';
import { ChangeFactors, type PasskeyView } from './change-factors.js';

/** The passkeys of the user that calls. */
@Controller('v1/me/passkeys')
@SignedIn()
@ForPeople()
export class PasskeysController {
  constructor(
    private readonly factors: ChangeFactors,
    private readonly passkeys: Passkeys,
    private readonly cookie: LoginCookie,
    private readonly people: AuthenticatePerson,
  ) {}

  @Get()
  async list(@CurrentPerson() { userId }: Person): Promise<Page<PasskeyView>> {
    return { data: await this.factors.listPasskeys(userId), next_cursor: null };
  }

  @Post('options')
  @HttpCode(200)
  @StepUp()
  @Answers({ statuses: [200] })
  async options(
    @Req() request: FastifyRequest,
    @CurrentPerson() { userId, sessionId }: Person,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PasskeyOptionsView> {
    const session = await this.people.sessionOf(request);
    const options = await this.passkeys.newOptions(userId, { email: session?.email ?? '', name: session?.name ?? '' });
    this.cookie.set(reply, { kind: 'passkey_new', challenge: String(options['challenge']), subject: sessionId });
    return { options };
  }

  @Post()
  @HttpCode(201)
  @StepUp()
  @BodyLimit(LOGIN_BODY_BYTES)
  async add(@Req() request: FastifyRequest, @Body() { name, credential }: NewPasskeyBody): Promise<PasskeyView> {
    const caller = aboutUser(callerOfRequest(request));
    const begun = this.cookie.read(request, 'passkey_new');
    const isOwn = begun?.subject === caller.sessionId && (await this.cookie.take(begun?.challenge ?? ''));
    return this.factors.addPasskey(caller, { name, credential, challenge: isOwn ? (begun?.challenge ?? null) : null });
  }

  @Delete(':id')
  @HttpCode(204)
  @StepUp()
  remove(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<void> {
    return this.factors.removePasskey(aboutUser(caller), ownId('psk', id, 'passkey'));
  }
}
