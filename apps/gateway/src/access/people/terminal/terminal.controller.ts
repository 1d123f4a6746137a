import { Body, Controller, Get, Header, HttpCode, Inject, Post, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BodyLimit } from '#http';
import { Problem } from '#problems';
import { Answers } from '#runtime';
import { CurrentPerson, type Person } from '../../../http/current-client.js';
import { ForPeople, SignedIn, StepUp } from '../../../http/scopes.js';
import type { GatewaySettings } from '../../../settings.js';
import { SETTINGS_TOKEN } from '../../../tokens.js';
import { FailedTokens } from '../../limits/failed-logins.js';
import { secondsToWait } from '../../limits/limit-headers.js';
import { consoleAddress } from '../console-address.js';
import { DescribeMe, type MeView } from '../me/me-view.js';
import { TerminalCodeBody, TerminalQuery, TerminalTokenBody } from './terminal-bodies.js';
import { TerminalSessions } from './terminal-sessions.js';

export interface TerminalCodeView {
  /** For `POST /auth/terminal/token`, once, within a minute. */
  code: string;
}

export interface TerminalTokenView {
  /** For the Authorization header, as a bearer token. */
  access_token: string;
  me: MeView;
}

const BODY_BYTES = 4 * 1024;

/** A browser confirms that a command line may act for a person. */
@Controller('v1/session/terminal')
@SignedIn()
@ForPeople()
export class TerminalSessionController {
  constructor(private readonly terminals: TerminalSessions) {}

  @Post()
  @HttpCode(200)
  @StepUp()
  @BodyLimit(BODY_BYTES)
  @Header('cache-control', 'no-store')
  allow(@CurrentPerson() person: Person, @Body() { code_challenge: challenge }: TerminalCodeBody): TerminalCodeView {
    return { code: this.terminals.codeFor(person, challenge) };
  }
}

/** What the command line itself calls: no page of the console, and no session yet (docs/users.md). */
@Controller('auth/terminal')
export class TerminalLoginController {
  constructor(
    private readonly terminals: TerminalSessions,
    private readonly describeMe: DescribeMe,
    private readonly failures: FailedTokens,
    @Inject(SETTINGS_TOKEN) private readonly settings: Pick<GatewaySettings, 'CONSOLE_URL' | 'PUBLIC_URL'>,
  ) {}

  /** Leads the browser to the page of the console that asks the person; nothing is confirmed here. */
  @Get()
  @Header('cache-control', 'no-store')
  @Answers({ statuses: [303], mediaTypes: ['text/plain'] })
  async begin(@Query() query: TerminalQuery, @Res() reply: FastifyReply): Promise<void> {
    const { code_challenge: challenge, state, port } = query;
    const { url } = consoleAddress(this.settings);
    const location = `${url}/terminal?${new URLSearchParams({ challenge, state, port }).toString()}`;
    await reply.status(303).header('location', location).type('text/plain').send('');
  }

  @Post('token')
  @HttpCode(200)
  @BodyLimit(BODY_BYTES)
  @Header('cache-control', 'no-store')
  @Answers({ statuses: [200] })
  async token(@Req() request: FastifyRequest, @Body() body: TerminalTokenBody): Promise<TerminalTokenView> {
    const verdict = await this.failures.begin('terminal', request.ip);
    if (verdict.kind === 'wait')
      throw new Problem('too_many_requests', 'Too many logins from this address were refused.', {
        retryAfterSeconds: secondsToWait(verdict.retryInMs),
      });
    const { token, session } = await this.terminals.open(request, body.code, body.code_verifier);
    await this.failures.forgive('terminal', request.ip);
    return { access_token: token, me: await this.describeMe.execute(session) };
  }
}
