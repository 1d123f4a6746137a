import { lazy, Suspense, type ReactElement } from 'react';
import { useWords } from '../i18n/i18n.js';
import { Copyable } from '../ui/shown.js';

const QrCode = lazy(async () => ({ default: (await import('../ui/qr.js')).QrCode }));

/** What an authenticator app is given: to scan, or to type. */
export function AuthenticatorSecret({ totp }: { totp: { secret: string; otpauth_url: string } }): ReactElement {
  const { invitation } = useWords();
  return (
    <>
      <p>{invitation.scan}</p>
      <Suspense fallback={null}>
        <QrCode text={totp.otpauth_url} label={invitation.scan} />
      </Suspense>
      <p className="hint">
        {invitation.secret} <Copyable text={totp.secret} />
      </p>
    </>
  );
}
