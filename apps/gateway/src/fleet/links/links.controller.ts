import { Controller, Delete, HttpCode, Param, Post, Req } from '@nestjs/common';
import { Takes } from '#runtime';
import { CurrentCaller, type Caller } from '../../audit/caller.js';
import { Scopes } from '../../http/scopes.js';
import { ownId } from '../../http/own-id.js';
import { optionalBody } from '../../http/optional-body.js';
import { CreateEnrolment, type EnrolmentView } from './create-enrolment.js';
import { EnrolmentBody } from './enrolment-body.js';
import { RevokeLinkKey } from './revoke-link-key.js';

/** Who may dial in as a register (docs/link.md). */
@Controller('v1/devices')
@Scopes('devices:admin')
export class LinksController {
  constructor(
    private readonly createEnrolment: CreateEnrolment,
    private readonly revokeLinkKey: RevokeLinkKey,
  ) {}

  @Post(':id/enrolments')
  @Takes(EnrolmentBody)
  enrol(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Req() { body }: { body?: unknown },
  ): Promise<EnrolmentView> {
    const { api_key: apiKey } = optionalBody(body, EnrolmentBody);
    return this.createEnrolment.execute(caller, ownId('dev', id, 'device'), apiKey);
  }

  @Delete(':id/link-key')
  @HttpCode(204)
  revoke(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<void> {
    return this.revokeLinkKey.execute(caller, ownId('dev', id, 'device'));
  }
}
