import { Body, Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BodyLimit } from '#http';
import { Answers } from '#runtime';
import { callerOfRequest } from '../../../audit/caller.js';
import { clientOf, CurrentPerson, type Person } from '../../../http/current-client.js';
import { ForPeople, SignedIn } from '../../../http/scopes.js';
import { originOf } from '../../limits/address-gate.js';
import { AuthenticatePerson } from '../authenticate-person.js';
import { Passkeys } from '../credentials/passkeys.js';
import { CodeBody, CredentialBody } from '../login/login-bodies.js';
import { LOGIN_BODY_BYTES, type PasskeyOptionsView } from '../login/login.controller.js';
import { LoginCookie } from '../login-cookie.js';
import { DescribeMe, type MeView } from '../me/me-view.js';
import type { LiveSession } from './live-session.js';
import { sessionEnded } from './renew-session.js';
import { aboutUser } from './sessions.controller.js';
import { StepUpSession, type SteppingUp } from './step-up.js';

/** A second factor within a session (docs/users.md). */
@Controller('v1/session/step-up')
@SignedIn()
@ForPeople()
export class StepUpController {
  constructor(
    private readonly stepUp: StepUpSession,
    private readonly passkeys: Passkeys,
    private readonly cookie: LoginCookie,
    private readonly describeMe: DescribeMe,
    private readonly people: AuthenticatePerson,
  ) {}

  @Post()
  @HttpCode(200)
  @BodyLimit(LOGIN_BODY_BYTES)
  async code(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Body() { code }: CodeBody,
  ): Promise<MeView> {
    return this.me(request, await this.stepUp.withCode(this.steppingUp(request, reply), code));
  }

  @Post('options')
  @HttpCode(200)
  @Answers({ statuses: [200] })
  async options(
    @CurrentPerson() { userId, sessionId }: Person,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PasskeyOptionsView> {
    const options = await this.passkeys.useOptions(userId);
    this.cookie.set(reply, { kind: 'passkey_step_up', challenge: String(options['challenge']), subject: sessionId });
    return { options };
  }

  @Post('passkey')
  @HttpCode(200)
  @BodyLimit(LOGIN_BODY_BYTES)
  async passkey(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Body() { credential }: CredentialBody,
  ): Promise<MeView> {
    const who = this.steppingUp(request, reply);
    const begun = this.cookie.read(request, 'passkey_step_up');
    const take = async (): Promise<string | null> =>
      begun?.subject === who.sessionId && (await this.cookie.take(begun.challenge)) ? begun.challenge : null;
    return this.me(request, await this.stepUp.withPasskey(who, credential, take));
  }

  private async me(request: FastifyRequest, renewed: LiveSession | null): Promise<MeView> {
    const client = clientOf(request);
    if (!client?.person) throw new Error('only a session steps up');
    const session = renewed ?? (await this.people.freshSessionOf(request));
    if (!session) throw sessionEnded();
    return this.describeMe.execute(session, { ...client, roles: client.person.roles });
  }

  private steppingUp(request: FastifyRequest, reply: FastifyReply): SteppingUp {
    const caller = aboutUser(callerOfRequest(request));
    const shownHash = this.people.sessionHashOf(request);
    return { caller, sessionId: caller.sessionId ?? '', shownHash, origin: originOf(request), reply };
  }
}
