import { Controller, Delete, HttpCode, Param, Post } from '@nestjs/common';
import { CurrentCaller, type Caller } from '../audit/caller.js';
import { Scopes } from '../http/scopes.js';
import { ownId } from '../http/own-id.js';
import { CreateEnrolment, type EnrolmentView } from './create-enrolment.js';
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
  enrol(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<EnrolmentView> {
    return this.createEnrolment.execute(caller, ownId('dev', id, 'device'));
  }

  @Delete(':id/link-key')
  @HttpCode(204)
  revoke(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<void> {
    return this.revokeLinkKey.execute(caller, ownId('dev', id, 'device'));
  }
}
