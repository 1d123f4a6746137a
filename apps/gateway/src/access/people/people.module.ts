import { Module } from '@nestjs/common';
import { AuditModule } from '../../audit/audit.module.js';
import { LimitsModule } from '../limits/limits.module.js';
import { AccessNoticesModule } from '../live/access-notices.module.js';
import { Approvals } from './approvals/approvals.js';
import { ApprovalsController } from './approvals/approvals.controller.js';
import { FourEyesGate } from './approvals/four-eyes-gate.js';
import { AuthenticatePerson } from './authenticate-person.js';
import { Passkeys } from './credentials/passkeys.js';
import { Passwords } from './credentials/passwords.js';
import { SecondFactors } from './credentials/second-factors.js';
import { AcceptInvitation } from './invitations/accept-invitation.js';
import { InvitationsModule } from './invitations/invitations.module.js';
import { OpenInvitationController } from './invitations/open-invitation.controller.js';
import { ConsolePagesOnly } from './login/console-pages-only.js';
import { LogIn } from './login/log-in.js';
import { LoginController } from './login/login.controller.js';
import { PersonRefusals } from './login/person-refusals.js';
import { LoginCookie } from './login-cookie.js';
import { ChangeFactors } from './me/change-factors.js';
import { MeController } from './me/me.controller.js';
import { DescribeMe } from './me/me-view.js';
import { PasskeysController } from './me/passkeys.controller.js';
import { BackChannelLogout } from './oidc/back-channel-logout.js';
import { FinishOidc, StepUpByOidc } from './oidc/finish-oidc.js';
import { IdentityProvider } from './oidc/identity-provider.js';
import { OidcController } from './oidc/oidc.controller.js';
import { OidcUsers } from './oidc/oidc-users.js';
import { StartOidc } from './oidc/start-oidc.js';
import { OwnSessions } from './sessions/list-sessions.js';
import { LogoutController } from './sessions/logout.controller.js';
import { OpenSession } from './sessions/open-session.js';
import { StepUpController } from './sessions/session.controller.js';
import { RenewSession } from './sessions/renew-session.js';
import { SessionCookie } from './sessions/session-cookie.js';
import { SessionRepository } from './sessions/session.repository.js';
import { Sessions } from './sessions/sessions.js';
import { SessionsController } from './sessions/sessions.controller.js';
import { TerminalLoginController, TerminalSessionController } from './terminal/terminal.controller.js';
import { TerminalSessions } from './terminal/terminal-sessions.js';
import { StepUpSession } from './sessions/step-up.js';
import { InvitationsController } from './users/invitations.controller.js';
import { Users } from './users/users.js';
import { UsersController } from './users/users.controller.js';

/** People: how they log in, what they may do where, and their sessions (docs/users.md). */
@Module({
  imports: [AuditModule, LimitsModule, AccessNoticesModule, InvitationsModule],
  controllers: [
    LoginController,
    OpenInvitationController,
    OidcController,
    LogoutController,
    StepUpController,
    SessionsController,
    TerminalLoginController,
    TerminalSessionController,
    MeController,
    PasskeysController,
    UsersController,
    InvitationsController,
    ApprovalsController,
  ],
  providers: [
    SessionRepository,
    Sessions,
    SessionCookie,
    RenewSession,
    AuthenticatePerson,
    OpenSession,
    OwnSessions,
    StepUpSession,
    TerminalSessions,
    LoginCookie,
    ConsolePagesOnly,
    Passwords,
    SecondFactors,
    Passkeys,
    PersonRefusals,
    LogIn,
    DescribeMe,
    ChangeFactors,
    AcceptInvitation,
    Users,
    IdentityProvider,
    OidcUsers,
    StartOidc,
    FinishOidc,
    StepUpByOidc,
    BackChannelLogout,
    Approvals,
    FourEyesGate,
  ],
  exports: [AuthenticatePerson, FourEyesGate],
})
export class PeopleModule {}
